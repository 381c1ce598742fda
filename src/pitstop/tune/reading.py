"""From the run of a trial to the Trial: did it come to an end that can be compared, and how long was its window."""

from collections.abc import Sequence

from pitstop.diagnose.steps import find_steps
from pitstop.records import Run, Steps, Trial, TrialOutcome
from pitstop.stats.busy import judge_quietness
from pitstop.tune.window import Window

__all__ = ["out_of_memory", "read_trial"]

_OUT_OF_MEMORY_WORDS = (
    "out of memory",
    "cannot allocate memory",
    "memoryerror",
    "std::bad_alloc",
    "defaultcpuallocator: can't allocate",
)
_KILLED = 128 + 9


def read_trial(
    run: Run,
    *,
    window: Window,
    proposals: Sequence[str],
    must_compile: bool = False,
    tolerate_load: bool = False,
    over_memory: bool = False,
    error_tail: str = "",
) -> Trial:
    """Return what `run` says about `proposals` over `window`.

    `must_compile`: a treatment among the proposals promises compiled graphs, so that none at all means that it could not act.
    `tolerate_load`: a busy machine does not make the trial invalid. `over_memory`: it was ended for using too much memory.
    `error_tail`: the end of the program's error output.
    """
    every = [find_steps(process.events) for process in run.ranks] or [None]
    ends = _slowest(every, window)
    first_ns = ends[window.first - 1] - run.started_ns if len(ends) >= window.first > 0 else None
    enough = len(ends) >= window.stop_after
    start, end = (ends[window.first - 1], ends[window.stop_after - 1]) if enough else (run.started_ns, run.ended_ns)
    # Drift inside the window is not looked at: an evaluation in one half of it is no disturbance.
    quiet = judge_quietness(run.usage, window_ns=(start, end))
    outcome, detail = _outcome(
        run, enough=enough, must_compile=must_compile, over_memory=over_memory, error_tail=error_tail, counted=len(ends)
    )
    if outcome is TrialOutcome.MEASURED and not quiet.valid and not tolerate_load:
        outcome, detail = TrialOutcome.BUSY, quiet.reason
    measured = enough and outcome in (TrialOutcome.MEASURED, TrialOutcome.BUSY)
    return Trial(
        proposals=tuple(proposals),
        outcome=outcome,
        window_ns=end - start if measured else None,
        window_steps=window.steps if measured else 0,
        window_samples=sum(sum(one.samples[window.first : window.stop_after]) for one in every if one)
        if measured
        else 0,
        first_ns=first_ns,
        peak_bytes=run.usage.peak_pss_bytes or run.usage.peak_rss_bytes,
        peak_device_bytes=run.end.peak_device_bytes if run.end else None,
        compiled_graphs=run.end.compiled_graphs if run.end else 0,
        graph_breaks=run.end.graph_breaks if run.end else 0,
        recompiles=run.end.recompiles if run.end else 0,
        foreign_cpu=quiet.foreign_share,
        detail=detail,
        wall_ns=run.ended_ns - run.started_ns,
    )


def _slowest(every: Sequence[Steps | None], window: Window) -> tuple[int, ...]:
    """Return the ends of the steps of the rank that counts: one that made too few, else the longest window."""

    def badness(steps: Steps | None) -> tuple[int, int]:
        ends = steps.ends_ns if steps is not None else ()
        if len(ends) < window.stop_after:
            return window.stop_after - len(ends), 0
        return 0, ends[window.stop_after - 1] - ends[window.first - 1]

    worst = max(every, key=badness)
    return worst.ends_ns if worst is not None else ()


def out_of_memory(error_tail: str) -> bool:
    """Return whether the end of a program's error output says that memory ran out, on the host or on a device."""
    lowered = error_tail.lower()
    return any(words in lowered for words in _OUT_OF_MEMORY_WORDS)


def _outcome(
    run: Run, *, enough: bool, must_compile: bool, over_memory: bool, error_tail: str, counted: int
) -> tuple[TrialOutcome, str]:
    last_line = error_tail.strip().splitlines()[-1][:300] if error_tail.strip() else ""
    if over_memory or (run.exit_code and out_of_memory(error_tail)):
        return TrialOutcome.OUT_OF_MEMORY, last_line
    if run.timed_out:
        return TrialOutcome.HUNG, f"{counted} steps"
    if run.exit_code == _KILLED and not last_line:
        return TrialOutcome.OUT_OF_MEMORY, "SIGKILL"
    if run.exit_code:
        return TrialOutcome.CRASHED, last_line or f"exit code {run.exit_code}"
    if not run.connected:
        return TrialOutcome.NOT_CONNECTED, ""
    if run.end is not None and run.end.loss_finite is False:
        return TrialOutcome.NOT_FINITE, f"loss {run.end.last_loss}"
    if not enough:
        return TrialOutcome.TOO_FEW_STEPS, f"{counted} steps"
    if must_compile and (run.end is None or not run.end.compiled_graphs):
        return TrialOutcome.COULD_NOT_ACT, "0 graphs"
    return TrialOutcome.MEASURED, ""
