"""After how many steps a change has paid for what it costs at the start (compiling, starting workers)."""

import math
import statistics
from collections.abc import Sequence

from pitstop.records import Trial

__all__ = ["break_even_steps", "starts_later"]

_LATER_SHARE = 0.25
_LATER_NS = 1e9


def starts_later(later_ns: float, *, usual_ns: float) -> bool:
    """Say whether a start that took so much longer than the usual one did so by more than process starts scatter."""
    return later_ns > max(_LATER_NS, _LATER_SHARE * usual_ns)


def break_even_steps(trials: Sequence[Trial], *, chosen: tuple[str, ...], warm_steps: int = 0) -> int | None:
    """Return the step at which original and patched program are equally far, or None where nothing was chosen or saved.

    The start of the change is taken from its first trial, whose compiler cache was empty: that is what the user's first run pays.
    `first_ns` is the time from process start to the window, so the `warm_steps` before the window count with what they cost.
    """
    base = [
        trial
        for trial in trials
        if not trial.proposals and trial.ns_per_step is not None and trial.first_ns is not None
    ]
    mine = [trial for trial in trials if trial.proposals == chosen and trial.ns_per_step is not None]
    cold = next((trial.first_ns for trial in trials if trial.proposals == chosen and trial.first_ns is not None), None)
    if not chosen or not base or not mine or cold is None:
        return None
    saved_ns = statistics.fmean(t.ns_per_step or 0.0 for t in base) - statistics.fmean(
        t.ns_per_step or 0.0 for t in mine
    )
    extra_ns = cold - statistics.fmean(trial.first_ns or 0 for trial in base)
    if saved_ns <= 0:
        return None
    usual_ns = statistics.fmean(trial.first_ns or 0 for trial in base)
    return warm_steps + math.ceil(extra_ns / saved_ns) if starts_later(extra_ns, usual_ns=usual_ns) else 0
