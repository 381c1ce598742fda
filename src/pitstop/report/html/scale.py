"""Placing values on an axis, as percent of its length."""

import math
from collections.abc import Iterable

import msgspec

_RATIOS = (0.1, 0.2, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 20.0, 50.0, 100.0)


class RatioScale(msgspec.Struct, frozen=True, kw_only=True):
    """A logarithmic axis for speed-ups, on which 2x and 0.5x are equally far from 1x."""

    low: float
    high: float

    def place(self, ratio: float) -> float:
        """Return the place of `ratio` in percent, kept on the axis."""
        part = (math.log(ratio) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return round(100 * min(max(part, 0.0), 1.0), 2)

    def ticks(self, *, most: int = 5) -> tuple[float, ...]:
        """Return at most `most` round ratios on the axis, 1 always among them."""
        inside = [ratio for ratio in _RATIOS if self.low <= ratio <= self.high]
        far = [ratio for ratio in inside if abs(self.place(ratio) - self.place(1.0)) >= 100 / (2 * most)]
        chosen = [1.0]
        for ratio in sorted(far, key=lambda ratio: -abs(math.log(ratio))):
            if len(chosen) < most and all(abs(self.place(ratio) - self.place(other)) >= 16 for other in chosen):
                chosen.append(ratio)
        return tuple(sorted(chosen))


def ratio_scale(ratios: Iterable[float]) -> RatioScale:
    """Return an axis that holds `ratios` and 1, with room at both ends."""
    sensible = [1.0, *(ratio for ratio in ratios if math.isfinite(ratio) and 0.01 <= ratio <= 100)]
    low, high = math.log(min(sensible)), math.log(max(sensible))
    room = max(0.08 * (high - low), 0.05)
    return RatioScale(low=math.exp(low - room), high=math.exp(high + room))


def round_step(span: float, *, most: int) -> float:
    """Return 1, 2 or 5 times a power of ten, such that at most `most` of it fit into `span` (> 0)."""
    power = 10.0 ** math.floor(math.log10(span / most))
    return next(power * times for times in (1, 2, 5, 10) if span / (power * times) <= most)
