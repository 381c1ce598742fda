"""How much a comparison could see: power, pairs that would decide, the smallest speed-up that would have been found.

All of one claim at a time by noncentral t (one look) or by integrating the looks of a plan; sd is of the log
ratio of one pair, which for runs of independent noise s is s * sqrt(2).
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import nctdtr

from pitstop.stats.paired import student_critical
from pitstop.stats.sequential import Plan, critical_values, t_paths

__all__ = [
    "detectable_speedup",
    "pairs_to_show_equivalent",
    "pairs_to_show_faster",
    "power_equivalent",
    "power_faster",
    "sequential_power",
]

MOST_PAIRS = 100_000  # beyond that "more runs" is no advice


def power_faster(log_ratio: float, *, sd: float, pairs: int, margin: float, alpha: float = 0.05) -> float:
    """Return the chance that the lower end of the 1 - alpha interval clears the margin after `pairs` pairs."""
    if pairs < 2:
        return 0.0
    excess = log_ratio - math.log1p(margin)
    if sd <= 0:
        return 1.0 if excess > 0 else 0.0
    shift = excess / sd * math.sqrt(pairs)
    if shift > 36:  # nctdtr gives NaN far out, where the answer is 1
        return 1.0
    return float(1.0 - nctdtr(pairs - 1, shift, student_critical(alpha / 2, df=pairs - 1)))


def power_equivalent(log_ratio: float, *, sd: float, pairs: int, margin: float, alpha: float = 0.05) -> float:
    """Return the chance that two one-sided tests at `alpha` both hold, by Bonferroni's lower bound (0 at margin 0)."""
    half = math.log1p(margin)
    if pairs < 2 or abs(log_ratio) >= half:
        return 0.0
    if sd <= 0:
        return 1.0
    cut = student_critical(alpha, df=pairs - 1)
    miss = 0.0
    for distance in (half - log_ratio, half + log_ratio):
        shift = distance / sd * math.sqrt(pairs)
        miss += 0.0 if shift > 36 else float(nctdtr(pairs - 1, shift, cut))
    return max(0.0, 1.0 - miss)


def pairs_to_show_faster(
    log_ratio: float, *, sd: float, margin: float, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Return the least number of pairs with that power, None where no sensible number has it."""
    if log_ratio <= math.log1p(margin):
        return None
    return _least(lambda pairs: power_faster(log_ratio, sd=sd, pairs=pairs, margin=margin, alpha=alpha) >= power)


def pairs_to_show_equivalent(
    log_ratio: float, *, sd: float, margin: float, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Return the least number of pairs with that power, None where no sensible number has it."""
    if abs(log_ratio) >= math.log1p(margin):
        return None
    return _least(lambda pairs: power_equivalent(log_ratio, sd=sd, pairs=pairs, margin=margin, alpha=alpha) >= power)


def detectable_speedup(
    *, pairs: int, sd: float, margin: float, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the smallest true speed-up that `pairs` pairs find with that power; None below two pairs.

    It makes the sentence "16 pairs with this noise would have found 5.1 %".
    """
    if pairs < 2:
        return None
    low = high = math.log1p(margin)
    step = max(sd, 1e-9)
    while power_faster(high, sd=sd, pairs=pairs, margin=margin, alpha=alpha) < power:
        high += step
        step *= 2
    for _ in range(50):
        middle = (low + high) / 2
        found = power_faster(middle, sd=sd, pairs=pairs, margin=margin, alpha=alpha) >= power
        low, high = (low, middle) if found else (middle, high)
    return math.exp(high)


def sequential_power(log_ratio: float, *, sd: float, margin: float, plan: Plan) -> float:
    """Return the chance that a plan with several looks says faster at any of them."""
    excess = (log_ratio - math.log1p(margin)) / sd
    cuts = np.asarray(critical_values(plan))[:, None]
    return float((t_paths(plan.looks, shift=excess) > cuts).any(axis=0).mean())


def _least(enough: Callable[[int], bool]) -> int | None:
    high = 2
    while not enough(high):
        high *= 2
        if high > MOST_PAIRS:
            return None
    low = high // 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return max(high, 2)
