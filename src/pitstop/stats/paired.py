"""Paired comparison of process means: one pair is a baseline run and a treated run next to each other.

Speed is wall time per sample; what is averaged is the logarithm of baseline over treated, so that "twice as fast"
and "half as fast" are the same distance from 1 and a slow machine day cancels. No value is ever thrown away for being
far from the others: a run is dropped only for what the machine said about it (`pitstop.stats.busy`) before its speed
is looked at. Dropping by value narrows the interval without making it truer; keeping an outlier widens it, which costs
a few pairs and never a false claim (docs/statistics.md, "One bad process").
"""

import math
from collections.abc import Sequence

import msgspec
from scipy.special import stdtrit

__all__ = ["PairedEstimate", "estimate", "log_ratios", "order_of_pairs", "student_critical", "t_interval"]


class PairedEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """Mean and standard deviation (n - 1) of the log ratios of `pairs` pairs; positive = the treated side is faster."""

    log_ratio: float
    sd: float
    pairs: int

    @property
    def speedup(self) -> float:
        """Baseline time / treated time (geometric mean over the pairs)."""
        return math.exp(self.log_ratio)

    @property
    def standard_error(self) -> float:
        """Standard error of `log_ratio`; infinite for fewer than two pairs."""
        return self.sd / math.sqrt(self.pairs) if self.pairs > 1 else math.inf


def log_ratios(baseline_ns: Sequence[float], treated_ns: Sequence[float]) -> tuple[float, ...]:
    """Return log(baseline / treated) pair by pair; both in ns per sample (or per step, if the samples are the same).

    Raises ValueError for sides of different length or for times that are not positive and finite.
    """
    if len(baseline_ns) != len(treated_ns):
        raise ValueError(f"{len(baseline_ns)} baseline runs against {len(treated_ns)} treated ones are not pairs")
    for value in (*baseline_ns, *treated_ns):
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"a time per sample of {value!r} ns is not a measurement")
    return tuple(math.log(base / treated) for base, treated in zip(baseline_ns, treated_ns, strict=True))


def estimate(ratios: Sequence[float]) -> PairedEstimate:
    """Return mean and standard deviation of log ratios. Raises ValueError without any."""
    pairs = len(ratios)
    if not pairs:
        raise ValueError("no pairs to compare")
    mean = math.fsum(ratios) / pairs
    square = math.fsum((ratio - mean) ** 2 for ratio in ratios)
    return PairedEstimate(log_ratio=mean, sd=math.sqrt(square / (pairs - 1)) if pairs > 1 else math.inf, pairs=pairs)


def student_critical(tail: float, *, df: float) -> float:
    """Return the value that Student's t with `df` degrees of freedom exceeds with probability `tail`."""
    return float(stdtrit(df, 1.0 - tail))


def t_interval(pairs: PairedEstimate, *, alpha: float = 0.05) -> tuple[float, float]:
    """Return the two-sided 1 - alpha interval of the speed-up; (0, inf) for a single pair."""
    if pairs.pairs < 2:
        return 0.0, math.inf
    half = student_critical(alpha / 2, df=pairs.pairs - 1) * pairs.standard_error
    return math.exp(pairs.log_ratio - half), math.exp(pairs.log_ratio + half)


def order_of_pairs(pairs: int, *, treated: int = 1) -> tuple[int, ...]:
    """Return the order of runs: 0 = baseline, 1..treated = the treated sides; A B B A A B B A ... for one.

    Half-blocks alternate between A B C and C B A, so that a linear drift adds to one pair of a block what it takes
    from the other. Any even number of pairs is balanced.
    """
    forward = tuple(range(treated + 1))
    return tuple(side for half in range(pairs) for side in (forward if half % 2 == 0 else forward[::-1]))
