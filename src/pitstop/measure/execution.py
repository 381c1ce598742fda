"""What both ways of running a program share: the probe, the streams, the limits, and the `Run` made from what was seen."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from pitstop.measure.limits import Exceeded, Limits
from pitstop.measure.output import CapturedOutput
from pitstop.measure.probe_folder import ProbeConfig, prepare_probe, read_probe
from pitstop.measure.sandbox.world import World
from pitstop.measure.watch import Watch
from pitstop.records import Change, Evidence, Program, Run

__all__ = ["Ending", "Execution", "Output"]

Output = Literal["inherit", "stderr", "capture"]


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended. `cpu_ns` and `peak_bytes`: the kernel's totals over the processes that were waited for."""

    exit_code: int
    started_ns: int
    ended_ns: int
    exceeded: Exceeded | None
    cpu_ns: int | None
    peak_bytes: int


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """One execution to be made; see `run_program` for the fields. Folders are absolute."""

    program: Program
    folder: Path
    project_root: Path
    probe: ProbeConfig | None
    change: Change
    timeout_s: float | None
    memory_limit_bytes: int | None
    output: Output
    on_tick: Callable[[], None]
    address_space_bytes: int | None = None  # of each process, as `ulimit -v` sets it

    @property
    def launch_file(self) -> Path:
        """What the launcher is told."""
        return self.folder / "launch.json"

    @property
    def is_profile(self) -> bool:
        """Whether it is observed in detail: a trial that is timed is not."""
        return self.probe is not None and self.probe.mode == "profile"

    @property
    def probe_folder(self) -> Path | None:
        """Where the probe writes; None without a probe."""
        return None if self.probe is None else self.folder / "probe"

    def with_probe(self, env: dict[str, str], project: Path) -> dict[str, str]:
        """Return `env` with what brings the probe into the program; its project lies at `project`."""
        if self.probe is None or self.probe_folder is None:
            return env
        self.probe_folder.mkdir(exist_ok=True)
        config = msgspec.structs.replace(self.probe, project_root=str(project))
        return {**env, **prepare_probe(self.probe_folder, config, env)}

    def streams(self) -> tuple[CapturedOutput | None, dict[str, int | IO[Any] | None]]:
        """Return where output is captured (None: nowhere) and the streams to start the launcher with."""
        if self.output == "capture":
            captured = CapturedOutput(self.folder)
            return captured, {"stdout": captured.writers[0], "stderr": captured.writers[1]}
        return None, {"stdout": sys.__stderr__ if self.output == "stderr" else None, "stderr": None}

    def limits(self, watch: Watch, world: World | None) -> Limits:
        """Return the limits of this execution, counted from now."""
        return Limits(watch=watch, timeout_s=self.timeout_s, memory_limit_bytes=self.memory_limit_bytes, world=world)

    def observed(self, ending: Ending, *, watch: Watch, project: Path) -> Run:
        """Return the run: how it ended, what was watched from outside, and what the probe wrote."""
        run = Run(
            program=self.program,
            exit_code=ending.exit_code,
            started_ns=ending.started_ns,
            ended_ns=ending.ended_ns,
            processes=(),
            evidence=Evidence(project_root=str(project)),
            usage=watch.usage(cpu_ns=ending.cpu_ns, peak_process_bytes=ending.peak_bytes),
            timed_out=ending.exceeded == "timeout",
            over_memory=ending.exceeded == "memory",
            ended_by=ending.exceeded or "program",
            connected=False,
        )
        if self.probe_folder is None:
            return run
        read = read_probe(self.probe_folder, project_root=str(project))
        return msgspec.structs.replace(
            run,
            processes=read.processes,
            evidence=read.evidence,
            end=read.end,
            stack_samples=read.stack_samples,
            faults=read.faults,
            connected=read.connected,
        )
