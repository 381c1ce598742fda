"""Percentiles of autocorrelated samples, refused where there are too few to know them."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np

__all__ = ["Percentile", "effective_sample_size", "percentile", "samples_needed"]

BEYOND = 2  # samples that must lie beyond the percentile ...
CERTAINTY = 0.99  # ... with this chance: gives DESIGN.md's 64, 662 and 6636


class Percentile(msgspec.Struct, frozen=True, kw_only=True):
    """A percentile, or None with the counts that say why: `effective` samples there, `needed` for it."""

    share: float
    value: float | None
    effective: int
    needed: int


def percentile(values: Sequence[float], *, share: float) -> Percentile:
    """Return the percentile at `share` (0.9 = p90) of samples in the order they were taken, if they suffice."""
    effective = math.floor(effective_sample_size(values))
    needed = samples_needed(share)
    value = float(np.quantile(np.asarray(values, dtype=float), share)) if effective >= needed else None
    return Percentile(share=share, value=value, effective=effective, needed=needed)


def samples_needed(share: float) -> int:
    """Return the least n of independent samples of which at least two lie beyond the percentile in 99 % of cases.

    Raises ValueError outside 0 < share < 1. Below the median the other tail counts.
    """
    if not 0 < share < 1:
        raise ValueError(f"a percentile lies between 0 and 1, not at {share!r}")
    tail = min(share, 1 - share)

    def too_few(count: int) -> bool:
        none_beyond = math.exp(count * math.log1p(-tail))
        return none_beyond * (1 + count * tail / (1 - tail)) > 1 - CERTAINTY

    low, high = BEYOND, BEYOND
    while too_few(high):
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if too_few(middle) else (low, middle)
    return high


def effective_sample_size(values: Sequence[float]) -> float:
    """Return how many independent samples the series is worth: n / (1 + 2 sum of autocorrelations), at most n.

    The sum stops where pairs of neighbouring autocorrelations turn negative (Geyer, Stat. Science 7, 1992).
    A constant series is worth its length.
    """
    series = np.asarray(values, dtype=float)
    count = len(series)
    if count < 4:
        return float(count)
    centred = series - series.mean()
    if not np.any(np.abs(centred) > 1e-12 * max(1.0, float(np.abs(series).max()))):
        return float(count)
    spectrum = np.fft.rfft(centred, 2 * count)
    correlation = np.fft.irfft(spectrum * np.conj(spectrum))[:count]
    correlation = correlation / correlation[0]
    even = count - count % 2
    paired = correlation[:even].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(paired <= 0)
    kept = paired[: negative[0]] if len(negative) else paired
    kept = np.minimum.accumulate(kept)
    return float(count / max(1.0, 2.0 * float(kept.sum()) - 1.0))
