"""Running the program as the user would: same streams, same process group, same signals, same exit code."""

import contextlib
import os
import signal
import subprocess
import time

from pitstop.measure.execution import Ending, Execution
from pitstop.measure.foreground import Foreground
from pitstop.measure.launch_line import changed_arguments, users_environment
from pitstop.measure.launcher import Launched, start
from pitstop.measure.limits import Exceeded, kernel_oom_kills, with_kernels_verdict
from pitstop.measure.watch import Watch
from pitstop.records import Run

__all__ = ["run_as_it_is"]

_TICK_S = 0.1


def run_as_it_is(execution: Execution) -> Run:
    """Run to the program's own end. Raises WrongUse if the command cannot be started."""
    if execution.change.paths:
        raise ValueError("files are only ever changed in a sandbox")
    argv = changed_arguments(execution.program.argv, execution.change)
    env = {**users_environment(), **execution.program.env, **execution.change.env}
    env = execution.with_probe(env, execution.project_root)
    captured, streams = execution.streams()
    stdin = subprocess.DEVNULL if captured is not None else None
    foreground = Foreground()
    oom_kills = kernel_oom_kills()
    with foreground.holding_signals():
        orders = {"kind": "plain", "argv": argv, "cwd": execution.program.cwd}
        launched = start(
            orders, launch_file=execution.launch_file, env=env, new_session=False, stdin=stdin, streams=streams
        )
        if captured is not None:
            captured.started()
        while not launched.silent:  # the pipe ends when the launcher becomes the command
            launched.listen(1.0)
        with Watch(launched.pid, closely=execution.is_profile) as watch:
            exceeded = _wait(launched, watch, execution, foreground)
    ended_ns = time.monotonic_ns()
    if captured is not None:
        captured.finish()
    launched.check_started(" ".join(argv))
    status = launched.exit_status or 0
    ending = Ending(
        exit_code=status if status >= 0 else 128 - status,
        started_ns=launched.started_ns or ended_ns,
        ended_ns=ended_ns,
        exceeded=exceeded,
        cpu_ns=launched.rusage_cpu_ns,
        peak_bytes=launched.rusage_peak_bytes,
    )
    run = execution.observed(ending, watch=watch, project=execution.project_root)
    return with_kernels_verdict(run, oom_kills_before=oom_kills)


def _wait(launched: Launched, watch: Watch, execution: Execution, foreground: Foreground) -> Exceeded | None:
    limits = execution.limits(watch, None)
    exceeded: Exceeded | None = None

    def tick() -> None:
        nonlocal exceeded
        exceeded = exceeded or limits.exceeded()
        if exceeded:
            _kill(watch.tree.pids or (launched.pid,))
        execution.on_tick()

    try:
        foreground.wait(launched.pid, ended=launched.reap, tick=tick, tick_s=_TICK_S)
    finally:
        if not launched.reap():  # a tick raised: the caller wants no more of this
            _kill(watch.tree.pids or (launched.pid,))
            launched.reap(block=True)
    return exceeded


def _kill(pids: tuple[int, ...]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
