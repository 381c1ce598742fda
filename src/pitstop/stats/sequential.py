"""Fixed looks with alpha spending, for the t-statistics of few pairs.

Textbook boundaries (O'Brien-Fleming, Pocock; Lan and DeMets, Biometrika 70, 1983) assume a known variance; with four
pairs that is far off. Here the joint distribution of the t-statistics at the looks is integrated itself: the sum
of each new block of m pairs is normal, its inner sum of squares is chi-square with m - 1 degrees of freedom, and both
are independent, whatever the true standard deviation is. So two dimensions per look are enough, and a
low-discrepancy sequence (Kronecker, with the generalised golden ratio) makes the result the same on every machine.
"""

import math
from functools import lru_cache
from typing import Literal

import msgspec
import numpy as np
from scipy.special import gammaincinv, ndtr, ndtri

from pitstop.stats.paired import PairedEstimate, student_critical

__all__ = ["Plan", "Spending", "critical_values", "repeated_interval", "spent"]

Spending = Literal["pocock", "obrien-fleming"]

POINTS = 1 << 16  # error of a crossing probability of 0.05 is below 0.0005 (tests/stats/test_sequential.py)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """When the data are looked at (numbers of pairs, rising, the first >= 2) and what is spent in all, two-sided.

    `pocock` spends early and suits large effects and costly pairs; `obrien-fleming` keeps the level for the end.
    """

    looks: tuple[int, ...]
    alpha: float = 0.05
    spending: Spending = "pocock"

    def __post_init__(self) -> None:
        if not self.looks or self.looks[0] < 2 or any(b <= a for a, b in zip(self.looks, self.looks[1:], strict=False)):
            raise ValueError(f"looks {self.looks!r} are not rising numbers of pairs from 2 on")
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha {self.alpha!r} is not between 0 and 1")


def spent(share: float, *, alpha: float, spending: Spending) -> float:
    """Return how much of `alpha` may be used up when `share` (0 to 1) of the pairs are in."""
    if share >= 1:
        return alpha
    if spending == "pocock":
        return alpha * math.log1p((math.e - 1) * share)
    return 4.0 * float(ndtr(ndtri(alpha / 4) / math.sqrt(share)))  # both sides, each with alpha / 2


@lru_cache(maxsize=256)
def critical_values(plan: Plan) -> tuple[float, ...]:
    """Return c per look: under no difference, |t| exceeds its c at any look with probability `plan.alpha`."""
    first = spent(plan.looks[0] / plan.looks[-1], alpha=plan.alpha, spending=plan.spending)
    found = [student_critical(first / 2, df=plan.looks[0] - 1)]
    if len(plan.looks) == 1:
        return tuple(found)
    paths = null_paths(plan.looks)
    alive = paths[0] <= found[0]
    used = first
    for look, pairs in enumerate(plan.looks[1:], start=1):
        may_use = spent(pairs / plan.looks[-1], alpha=plan.alpha, spending=plan.spending)
        still = np.sort(paths[look][alive])
        cross = max(1, round((may_use - used) * paths.shape[1]))
        found.append(float(still[-cross - 1] + still[-cross]) / 2)
        alive &= paths[look] <= found[look]
        used = may_use
    return tuple(found)


def repeated_interval(pairs: PairedEstimate, *, plan: Plan, look: int) -> tuple[float, float]:
    """Return the interval of the speed-up at `look` that holds at all looks together with 1 - alpha, however one stops.

    Jennison and Turnbull's repeated confidence interval: estimate +- c(look) standard errors.
    """
    half = critical_values(plan)[look] * pairs.standard_error
    return math.exp(pairs.log_ratio - half), math.exp(pairs.log_ratio + half)


def t_paths(looks: tuple[int, ...], *, shift: float) -> np.ndarray:
    """Return t-statistics, shape (looks, POINTS), of paths whose pairs have mean `shift` and sd 1, against mean 0."""
    uniform = kronecker(2 * len(looks), POINTS)
    total = np.zeros(POINTS)
    squares = np.zeros(POINTS)
    result = np.empty((len(looks), POINTS))
    before = 0
    for look, pairs in enumerate(looks):
        new = pairs - before
        mean = shift + ndtri(uniform[2 * look]) / math.sqrt(new)
        if before:
            squares += (total / before - mean) ** 2 * before * new / pairs
        if new > 1:
            squares += 2.0 * gammaincinv((new - 1) / 2, uniform[2 * look + 1])
        total += mean * new
        result[look] = total / pairs / np.sqrt(squares / (pairs - 1) / pairs)
        before = pairs
    return result


@lru_cache(maxsize=32)
def null_paths(looks: tuple[int, ...]) -> np.ndarray:
    """Return |t| of paths without any effect; read only."""
    paths: np.ndarray = np.abs(t_paths(looks, shift=0.0))
    return paths


def kronecker(dimensions: int, points: int) -> np.ndarray:
    """Return a low-discrepancy sequence in the open unit cube, shape (dimensions, points)."""
    root = 2.0
    for _ in range(64):  # fixed point of x = (1 + x) ** (1 / (d + 1)): M. Roberts, 2018
        root = (1.0 + root) ** (1.0 / (dimensions + 1))
    steps = root ** -np.arange(1, dimensions + 1, dtype=float)
    cube: np.ndarray = (0.5 + np.outer(steps, np.arange(1, points + 1))) % 1.0
    return cube
