"""Running the program once in a sandbox; nothing of it stays but what was asked for."""

import signal
import subprocess
import time
from pathlib import Path

import msgspec

from pitstop.measure.ending import SharedMemoryBefore, as_subreaper, end_marked
from pitstop.measure.execution import Ending, Execution
from pitstop.measure.launch_line import users_environment
from pitstop.measure.launcher import Launched, start
from pitstop.measure.limits import Exceeded, kernel_oom_kills, with_kernels_verdict
from pitstop.measure.output import CapturedOutput
from pitstop.measure.sandbox.plan import SandboxPlan
from pitstop.measure.sandbox.project_copy import moved_back
from pitstop.measure.sandbox.world import World
from pitstop.measure.watch import Watch
from pitstop.records import Run

__all__ = ["run_trial"]

_TICK_S = 0.1
_SIGKILLED = 128 + signal.SIGKILL


def run_trial(
    execution: Execution,
    plan: SandboxPlan,
    *,
    compile_cache: Path | None,
    seed: Path | None,
    keep_layers: Path | None,
) -> Run:
    """Make the trial's world, run in it, take out what is to be kept, remove it. Raises WrongUse, CouldNotMeasure."""
    world = World(plan, project_root=execution.project_root, change=execution.change)
    try:
        world.take_seed(seed)
        world.take_cache(compile_cache)
        oom_kills = kernel_oom_kills()
        run = _run_in(world, execution, seed=seed, keep_layers=keep_layers)
        run = with_kernels_verdict(run, oom_kills_before=oom_kills)
        if compile_cache is not None and run.exit_code == 0 and run.ended_by == "program":
            world.publish_cache(compile_cache)
        if keep_layers is not None:
            world.keep_layers(keep_layers)
    finally:
        world.remove()
    return run


def _run_in(world: World, execution: Execution, *, seed: Path | None, keep_layers: Path | None) -> Run:
    argv, cwd = world.program(execution.program)
    env = world.environment({**users_environment(), **execution.program.env})
    env = execution.with_probe(env, world.project)
    orders = world.launch(probe_folder=execution.probe_folder, seed=seed, keep_layers=keep_layers)
    orders |= {"argv": argv, "cwd": cwd, "address_space_bytes": execution.address_space_bytes}
    # Overlays have a private /dev/shm.
    shared_memory = SharedMemoryBefore() if world.plan.kind != "overlay" else None
    captured, streams = execution.streams()
    with as_subreaper():
        launched = start(
            orders,
            launch_file=execution.launch_file,
            env=env,
            stdin=subprocess.DEVNULL,
            streams=streams,
            new_session=True,
        )
        if captured is not None:
            captured.started()
        launchers = 2 if world.plan.pid_namespace else 1
        with Watch(launched.pid, launchers=launchers, closely=execution.is_profile) as watch:
            try:
                exceeded = _wait(launched, watch, world, execution)
            finally:
                _end(launched, watch, world, shared_memory, captured)
                ended_ns = time.monotonic_ns()
    launched.check_started(" ".join(argv))
    said = launched.ended or {"ended": _SIGKILLED, "cpu_ns": None, "peak_rss_bytes": 0}
    ending = Ending(
        exit_code=said["ended"] if exceeded is None else _SIGKILLED,
        started_ns=launched.started_ns or ended_ns,
        ended_ns=said.get("time_ns", ended_ns),
        exceeded=exceeded,
        cpu_ns=said["cpu_ns"],
        peak_bytes=said["peak_rss_bytes"],
    )
    run = execution.observed(ending, watch=watch, project=world.project)
    if world.project == execution.project_root:
        return run
    evidence = moved_back(run.evidence, project=str(execution.project_root), target=str(world.project))
    return msgspec.structs.replace(run, evidence=evidence)


def _wait(launched: Launched, watch: Watch, world: World, execution: Execution) -> Exceeded | None:
    limits = execution.limits(watch, world)
    exceeded: Exceeded | None = None
    while not launched.silent and exceeded is None:
        launched.listen(_TICK_S)
        execution.on_tick()
        exceeded = limits.exceeded()
    return exceeded


def _end(
    launched: Launched,
    watch: Watch,
    world: World,
    shared_memory: SharedMemoryBefore | None,
    captured: CapturedOutput | None,
) -> None:
    """End every process of the trial, by its launcher and by what marks them, then what they shared."""
    launched.stop()
    end_marked(world.mark, known=watch.tree.ever)
    if shared_memory is not None:
        shared_memory.remove_new(pids=watch.tree.ever | {launched.command_pid or launched.pid})
    if captured is not None:
        captured.finish()
