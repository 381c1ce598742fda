"""Holm's step-down procedure for claims with plain p-values (one look each)."""

from collections.abc import Sequence

__all__ = ["holm"]


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return adjusted p-values in the given order: a claim holds at overall level alpha if its value is <= alpha.

    S. Holm, Scand. J. Statist. 6 (1979); valid under any dependence of the claims.
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, p_values[index] * (len(p_values) - rank)))
        adjusted[index] = running
    return tuple(adjusted)
