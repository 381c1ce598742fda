"""The patched program measured with nothing of pitstop in it: whole runs of the original and the patched command, interleaved."""

from pitstop.api.bench import Bench
from pitstop.messages import say
from pitstop.records import Change
from pitstop.records.results import NotMeasured, Patched
from pitstop.stats.paired import estimate, log_ratios, order_of_pairs, t_interval
from pitstop.tune.search_actions import Finish

__all__ = ["measure_patched"]

_MAX_PAIRS = 4
_MIN_PAIRS = 2
_LEAST_TIMEOUT_S = 20.0


def measure_patched(
    bench: Bench, *, change: Change, finish: Finish, left_s: float
) -> tuple[Patched | None, tuple[NotMeasured, ...]]:
    """Return the end-to-end figure of the patched program, or the step clock's where the program does not end in time.

    The first run is a patched one and gets what is left of the budget for one run; if it ends, pairs follow by turns. Start-up and
    compile time are in these times.
    """
    if not finish.chosen or finish.ci is None:
        return None, ()
    by_clock = Patched(speedup=finish.speedup, ci=finish.ci, pairs=finish.pairs, how="step-clock")
    # One patched and one original run per pair, and an original takes `speedup` times as long.
    cap_s = max(_LEAST_TIMEOUT_S, left_s / (_MIN_PAIRS * (1 + finish.speedup)))
    times: dict[bool, list[float]] = {True: [], False: []}
    pairs = _MIN_PAIRS
    while len(times[False]) < pairs or len(times[True]) < pairs:
        taken = len(times[True]) + len(times[False])
        treated = not order_of_pairs(pairs)[
            taken
        ]  # the patched program first, so that one that does not end is known at once
        timeout_s = cap_s if treated else cap_s * 2 * finish.speedup
        took = _whole_run(bench, change=change if treated else Change(), treated=treated, timeout_s=timeout_s)
        if took is None:
            why = NotMeasured(what=say("tune.what_patched"), why=say("tune.why_patched_long", seconds=timeout_s))
            return by_clock, (why,)
        times[treated].append(took)
        if taken == 0:
            affordable = int(left_s / (took * (1 + finish.speedup)))
            pairs = max(_MIN_PAIRS, min(_MAX_PAIRS, affordable))
    compared = estimate(log_ratios(times[False], times[True]))
    return Patched(speedup=compared.speedup, ci=t_interval(compared), pairs=pairs, how="end-to-end"), ()


def _whole_run(bench: Bench, *, change: Change, treated: bool, timeout_s: float) -> float | None:
    """Return the wall seconds of one whole run without the probe, or None where it failed or did not end in time."""
    label = "whole-patched" if treated else "whole-original"
    run, _folder = bench.run(label, change=change, probe=None, timeout_s=timeout_s)
    return None if run.timed_out or run.exit_code else (run.ended_ns - run.started_ns) / 1e9
