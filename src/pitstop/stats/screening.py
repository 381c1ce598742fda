"""Screening: one run of a candidate between baseline runs, enough to choose what is worth confirming, no claim.

A treated run is compared with the baseline at its own moment, interpolated between the neighbouring baseline runs, so
that drift cancels; its noise is known from how much baselines next to each other differ.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

__all__ = ["PRIOR_DF", "PRIOR_SD", "ScreenEstimate", "TimedRun", "noise_sd", "screen"]

PRIOR_SD = 0.039  # process means on the machine of traps.md, "Statistics at this machine's noise"
PRIOR_DF = 0.3  # its weight against the measured values: little, as two baselines that agree by luck are soon corrected


class TimedRun(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The middle of a run's window on any clock, in ns, and the logarithm of its ns per sample."""

    at_ns: float
    log_cost: float


class ScreenEstimate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Log of baseline / treated over `runs` runs, and its standard error."""

    log_ratio: float
    standard_error: float
    runs: int

    @property
    def speedup(self) -> float:
        """Baseline time / treated time."""
        return math.exp(self.log_ratio)


def screen(treated: Sequence[TimedRun], *, baselines: Sequence[TimedRun], sd: float) -> ScreenEstimate:
    """Compare runs of one candidate with the baselines around them; `sd` is the noise of one run (`noise_sd`).

    `baselines` in time order. Raises ValueError if either side is empty.
    """
    if not treated or not baselines:
        raise ValueError("screening needs a treated run and a baseline run")
    weights: dict[int, float] = {}  # by baseline
    total = 0.0
    for run in treated:
        after = bisect_left(baselines, run.at_ns, key=_moment)
        if after == 0 or after == len(baselines):  # no neighbour on one side: the nearest one stands for both
            nearest = min(after, len(baselines) - 1)
            total += baselines[nearest].log_cost - run.log_cost
            weights[nearest] = weights.get(nearest, 0.0) + 1.0
            continue
        left, right = baselines[after - 1], baselines[after]
        share = (run.at_ns - left.at_ns) / (right.at_ns - left.at_ns)
        total += left.log_cost * (1 - share) + right.log_cost * share - run.log_cost
        weights[after - 1] = weights.get(after - 1, 0.0) + 1 - share
        weights[after] = weights.get(after, 0.0) + share
    runs = len(treated)
    variance = (runs + sum(weight * weight for weight in weights.values())) / runs**2
    return ScreenEstimate(log_ratio=total / runs, standard_error=sd * math.sqrt(variance), runs=runs)


def noise_sd(
    baselines: Sequence[TimedRun], repeats: Iterable[Sequence[float]] = (), *, prior_sd: float = PRIOR_SD
) -> float:
    """Return the standard deviation of the log cost of one run.

    Baselines give half the mean square of differences between neighbours (von Neumann: drift hardly counts), other
    candidates measured repeatedly give their inner variance (`repeats`: their log ratios), and a little of a prior value keeps two
    baselines that agree by luck from promising a quiet machine.
    """
    square, df = PRIOR_DF * prior_sd**2, PRIOR_DF
    for before, after in pairwise(baselines):
        square += (after.log_cost - before.log_cost) ** 2 / 2
        df += 1
    for values in repeats:
        if len(values) > 1:
            mean = math.fsum(values) / len(values)
            # a log ratio carries its interpolated baselines' noise too: half a variance on average
            square += math.fsum((value - mean) ** 2 for value in values) / 1.5
            df += len(values) - 1
    return math.sqrt(square / df)


def _moment(run: TimedRun) -> float:
    return run.at_ns
