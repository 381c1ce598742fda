"""Running the user's program once: as it is (`pitstop profile`), or as a disposable trial in a sandbox."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec

from pitstop.measure.ending import SharedMemoryBefore, as_subreaper, end_marked
from pitstop.measure.foreground import blocked_signals, wait_in_foreground
from pitstop.measure.launch_line import changed_arguments, users_environment
from pitstop.measure.launcher import start
from pitstop.measure.limits import Exceeded, Limits, kernel_oom_kills
from pitstop.measure.output import CapturedOutput
from pitstop.measure.probe_folder import ProbeConfig, prepare_probe, read_probe
from pitstop.measure.sandbox.plan import SandboxPlan
from pitstop.measure.sandbox.project_copy import moved_back
from pitstop.measure.sandbox.world import World
from pitstop.measure.watch import Watch
from pitstop.records import Change, Evidence, Program, Run

__all__ = ["Output", "run_program"]

Output = Literal["inherit", "stderr", "capture"]

_TICK_S = 0.1
_SIGKILLED = 128 + signal.SIGKILL


def run_program(
    program: Program,
    *,
    folder: Path,
    project_root: Path,
    probe: ProbeConfig | None,
    sandbox: SandboxPlan | None = None,
    change: Change | None = None,
    timeout_s: float | None = None,
    memory_limit_bytes: int | None = None,
    output: Output = "inherit",
    compile_cache: Path | None = None,
    seed: Path | None = None,
    keep_layers: Path | None = None,
    on_tick: Callable[[], None] | None = None,
) -> Run:
    """Run `program` to its end and return what was observed; a crash, a hang and a kill are results, not errors.

    Without `sandbox` the program has pitstop's own standard streams (output "stderr": its output goes to standard error),
    gets the signals that pitstop gets, and may leave processes behind as it would without pitstop. With it, the program
    reads nothing, "capture" keeps its output in the files `stdout` and `stderr` of `folder`, and nothing that it starts or
    writes survives, except: `compile_cache` is made from its compiler caches after a clean end if there is none yet (and given
    to it as its own copy if there is), and `keep_layers` receives what it wrote, for `collect_seed`.
    `seed` is a tree of files that it finds as if they had always been there. `on_tick` is called about ten times a second;
    what it raises ends the run and is raised here.
    Raises WrongUse if the command cannot be started, CouldNotMeasure if the sandbox cannot be made.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    execution = _Execution(
        program=program,
        folder=folder,
        project_root=project_root.resolve(),
        probe=probe,
        change=change or Change(),
        timeout_s=timeout_s,
        memory_limit_bytes=memory_limit_bytes,
        output=output,
        on_tick=on_tick or _nothing,
    )
    if sandbox is None:
        return execution.as_it_is()
    return execution.in_sandbox(sandbox, compile_cache=compile_cache, seed=seed, keep_layers=keep_layers)


def _nothing() -> None:
    pass


class _Execution(msgspec.Struct, frozen=True, kw_only=True):
    """The part that both ways of running share."""

    program: Program
    folder: Path
    project_root: Path
    probe: ProbeConfig | None
    change: Change
    timeout_s: float | None
    memory_limit_bytes: int | None
    output: Output
    on_tick: Callable[[], None]

    def as_it_is(self) -> Run:
        if self.change.files:
            raise ValueError("files are only ever changed in a sandbox")
        argv = changed_arguments(self.program.argv, self.change)
        env = self._with_probe({**users_environment(), **self.program.env, **self.change.env}, self.project_root)
        captured, streams = self._streams()
        exceeded: Exceeded | None = None
        with blocked_signals() as mask:
            orders = {"kind": "plain", "argv": argv, "cwd": self.program.cwd, "signal_mask": mask}
            launched = start(orders, launch_file=self._launch_file, env=env, new_session=False, **streams)
            if captured is not None:
                captured.started()
            while not launched.silent:
                launched.listen(1.0)
            with Watch(launched.pid) as watch:
                limits = self._limits(watch, None)

                def tick() -> None:
                    nonlocal exceeded
                    exceeded = exceeded or limits.exceeded()
                    if exceeded:
                        _kill(watch.tree.pids or (launched.pid,))
                    self.on_tick()

                try:
                    wait_in_foreground(launched.pid, ended=launched.reap, tick=tick, tick_s=_TICK_S)
                finally:
                    if not launched.reap():
                        _kill(watch.tree.pids or (launched.pid,))
                        launched.reap(block=True)
        ended_ns = time.monotonic_ns()
        if captured is not None:
            captured.finish()
        launched.check_started(" ".join(argv))
        status = launched.exit_status or 0
        return self._observed(
            exit_code=status if status >= 0 else 128 - status,
            started_ns=launched.started_ns or ended_ns,
            ended_ns=ended_ns,
            watch=watch,
            cpu_ns=launched.rusage_cpu_ns,
            peak_bytes=launched.rusage_peak_bytes,
            ended_by=exceeded or "program",
        )

    def in_sandbox(
        self, plan: SandboxPlan, *, compile_cache: Path | None, seed: Path | None, keep_layers: Path | None
    ) -> Run:
        world = World(plan, project_root=self.project_root, change=self.change)
        shared_memory = SharedMemoryBefore() if plan.kind != "overlay" else None
        oom_kills = kernel_oom_kills()
        try:
            world.take_seed(seed)
            world.take_cache(compile_cache)
            run = self._trial(world, seed=seed, keep_layers=keep_layers, shared_memory=shared_memory)
            if run.exit_code == _SIGKILLED and run.ended_by == "program" and kernel_oom_kills() > oom_kills:
                run = msgspec.structs.replace(run, ended_by="memory", over_memory=True)
            if compile_cache is not None and run.exit_code == 0 and run.ended_by == "program":
                world.publish_cache(compile_cache)
            if keep_layers is not None:
                world.keep_layers(keep_layers)
        finally:
            world.remove()
        return run

    def _trial(
        self, world: World, *, seed: Path | None, keep_layers: Path | None, shared_memory: SharedMemoryBefore | None
    ) -> Run:
        argv, cwd = world.program(self.program)
        env = world.environment({**users_environment(), **self.program.env})
        env = self._with_probe(env, world.project)
        captured, streams = self._streams()
        orders = world.launch(
            probe_folder=self._probe_folder if self.probe is not None else None, seed=seed, keep_layers=keep_layers
        )
        orders |= {"argv": argv, "cwd": cwd}
        exceeded: Exceeded | None = None
        with as_subreaper():
            launched = start(
                orders,
                launch_file=self._launch_file,
                env=env,
                stdin=subprocess.DEVNULL,
                new_session=True,
                **streams,
            )
            if captured is not None:
                captured.started()
            with Watch(launched.pid, launchers=2 if world.plan.pid_namespace else 1) as watch:
                limits = self._limits(watch, world)
                try:
                    while not launched.silent and exceeded is None:
                        launched.listen(_TICK_S)
                        self.on_tick()
                        exceeded = limits.exceeded()
                finally:
                    launched.stop()
                    ended_ns = time.monotonic_ns()
                    end_marked(world.mark, known=watch.tree.ever)
                    if shared_memory is not None:
                        shared_memory.remove_new(pids=watch.tree.ever | {launched.command_pid or launched.pid})
                    if captured is not None:
                        captured.finish()
        launched.check_started(" ".join(argv))
        said = launched.ended or {"ended": _SIGKILLED, "cpu_ns": None, "peak_rss_bytes": 0}
        run = self._observed(
            exit_code=said["ended"] if exceeded is None else _SIGKILLED,
            started_ns=launched.started_ns or ended_ns,
            ended_ns=ended_ns,
            watch=watch,
            cpu_ns=said["cpu_ns"],
            peak_bytes=said["peak_rss_bytes"],
            ended_by=exceeded or "program",
            project=world.project,
        )
        if world.project != self.project_root:
            moved = {"project": str(self.project_root), "target": str(world.project)}
            run = msgspec.structs.replace(run, evidence=moved_back(run.evidence, **moved))
        return run

    @property
    def _launch_file(self) -> Path:
        return self.folder / "launch.json"

    @property
    def _probe_folder(self) -> Path:
        return self.folder / "probe"

    def _with_probe(self, env: dict[str, str], project: Path) -> dict[str, str]:
        if self.probe is None:
            return env
        self._probe_folder.mkdir(exist_ok=True)
        config = msgspec.structs.replace(self.probe, project_root=str(project))
        return {**env, **prepare_probe(self._probe_folder, config, env)}

    def _streams(self) -> tuple[CapturedOutput | None, dict[str, Any]]:
        if self.output == "capture":
            captured = CapturedOutput(self.folder)
            return captured, {"stdout": captured.writers[0], "stderr": captured.writers[1]}
        return None, {"stdout": sys.__stderr__} if self.output == "stderr" else {}

    def _limits(self, watch: Watch, world: World | None) -> Limits:
        return Limits(watch=watch, timeout_s=self.timeout_s, memory_limit_bytes=self.memory_limit_bytes, world=world)

    def _observed(
        self,
        *,
        exit_code: int,
        started_ns: int,
        ended_ns: int,
        watch: Watch,
        cpu_ns: int | None,
        peak_bytes: int,
        ended_by: str,
        project: Path | None = None,
    ) -> Run:
        root = project or self.project_root
        usage = watch.usage(cpu_ns=cpu_ns, peak_process_bytes=peak_bytes)
        run = Run(
            program=self.program,
            exit_code=exit_code,
            started_ns=started_ns,
            ended_ns=ended_ns,
            processes=(),
            evidence=Evidence(project_root=str(root)),
            usage=usage,
            timed_out=ended_by == "timeout",
            over_memory=ended_by == "memory",
            ended_by=ended_by,
            connected=False,
        )
        if self.probe is None:
            return run
        read = read_probe(self._probe_folder, project_root=str(root))
        return msgspec.structs.replace(
            run,
            processes=read.processes,
            evidence=read.evidence,
            end=read.end,
            stack_samples=read.stack_samples,
            faults=read.faults,
            connected=read.connected,
        )


def _kill(pids: tuple[int, ...]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
