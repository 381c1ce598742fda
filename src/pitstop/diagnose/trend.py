"""Straight lines through measured points."""

import statistics
from collections.abc import Sequence

import msgspec

__all__ = ["Trend", "trend"]

_LEAST_POINTS = 5


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """How much a value grows per unit of the other, and how much of its variance that explains (R squared, 0 to 1)."""

    slope: float
    explained: float


def trend(points: Sequence[tuple[float, float]]) -> Trend | None:
    """Return the least-squares line through `points`; None for fewer than five, or all at one place."""
    if len(points) < _LEAST_POINTS or len({x for x, _y in points}) < 2:
        return None
    xs, ys = zip(*points, strict=True)
    slope = statistics.linear_regression(xs, ys).slope
    if len(set(ys)) < 2:
        return Trend(slope=0.0, explained=0.0)
    return Trend(slope=slope, explained=min(1.0, statistics.correlation(xs, ys) ** 2))
