"""The patched program measured with nothing of pitstop in it: whole runs of the original and the patched command, interleaved."""

from typing import TypeGuard

from pitstop.api.bench import Bench
from pitstop.messages import say
from pitstop.records import Change
from pitstop.records.results import NotMeasured, Patched
from pitstop.stats.paired import estimate, log_ratios, order_of_pairs, t_interval
from pitstop.tune.search_actions import Finish

__all__ = ["measure_patched", "slower_as_a_whole"]

_MAX_PAIRS = 4
_MIN_PAIRS = 2
_SHORTEST_S = 5.0  # no program that uses torch ends sooner
_OVERRUN = (
    1.1  # what is left of the budget may be exceeded by this much; a later run may take as much longer than the first
)


def measure_patched(
    bench: Bench, *, change: Change, finish: Finish, left_s: float
) -> tuple[Patched | None, tuple[NotMeasured, ...]]:
    """Return the end-to-end figure of the patched program, or the step clock's where the program does not end in time.

    The first run is a patched one and gets what is left of the budget for one run; if it ends, pairs follow by turns, as many as
    fit. Start-up and compile time are in these times.
    """
    if not finish.chosen or finish.ci is None:
        return None, ()
    by_clock = Patched(speedup=finish.speedup, ci=finish.ci, pairs=finish.pairs, how="step-clock")
    pair_s = left_s * _OVERRUN / _MIN_PAIRS  # the longest that two pairs fit of
    if pair_s < _SHORTEST_S * (1 + finish.speedup):
        return by_clock, (_too_little(left_s),)
    times: dict[bool, list[float]] = {True: [], False: []}
    pairs = _MIN_PAIRS
    while len(times[False]) < pairs or len(times[True]) < pairs:
        taken = len(times[True]) + len(times[False])
        # The patched program first, so that one that does not end in time is known at once; the original takes no less time.
        treated = not order_of_pairs(pairs)[taken]
        timeout_s = (pair_s / 2 if treated else pair_s - times[True][0]) * (1 if taken < 2 else _OVERRUN)
        took = _whole_run(bench, change=change if treated else Change(), treated=treated, timeout_s=timeout_s)
        if took is None:
            return by_clock, (_too_little(left_s),)
        times[treated].append(took)
        if taken == 1:  # what one pair takes is known now; how many follow depends on nothing else
            pairs = max(_MIN_PAIRS, min(_MAX_PAIRS, int(left_s / (times[True][0] + times[False][0]))))
    compared = estimate(log_ratios(times[False], times[True]))
    return Patched(speedup=compared.speedup, ci=t_interval(compared), pairs=pairs, how="end-to-end"), ()


def slower_as_a_whole(patched: Patched | None) -> TypeGuard[Patched]:
    """Tell whether whole programs were measured, and the patched one is slower with certainty."""
    return patched is not None and patched.how == "end-to-end" and patched.ci[1] < 1


def _too_little(left_s: float) -> NotMeasured:
    why = say("tune.why_patched_long", seconds=max(0.0, left_s), pairs=_MIN_PAIRS)
    return NotMeasured(what=say("tune.what_patched"), why=why)


def _whole_run(bench: Bench, *, change: Change, treated: bool, timeout_s: float) -> float | None:
    """Return the wall seconds of one whole run without the probe, or None where it failed or did not end in time."""
    label = "whole-patched" if treated else "whole-original"
    run, _folder = bench.run(label, change=change, probe=None, timeout_s=timeout_s)
    return None if run.timed_out or run.exit_code else (run.ended_ns - run.started_ns) / 1e9
