"""Before and after as two bars: the time that the patched program needs for the same work, the original's being 100 %."""

import msgspec

from pitstop.records.results import Patched
from pitstop.report import numbers


class TimeSaved(msgspec.Struct, frozen=True, kw_only=True):
    """Widths in percent of the original's time (or of the longer of the two), and the share in words.

    `certain`: the interval lies below the original's time, so that the bar may look like a gain.
    """

    before: float
    after: float
    low: float
    high: float
    certain: bool
    before_text: str
    after_text: str


def time_saved(patched: Patched | None) -> TimeSaved | None:
    """Return the bars, or None where the patched program was not measured."""
    if patched is None or min(patched.speedup, *patched.ci) <= 0:
        return None
    after, low, high = 1 / patched.speedup, 1 / patched.ci[1], 1 / patched.ci[0]
    longest = max(1.0, high)
    return TimeSaved(
        before=round(100 / longest, 2),
        after=round(100 * after / longest, 2),
        low=round(100 * low / longest, 2),
        high=round(100 * high / longest, 2),
        certain=patched.ci[0] > 1,
        before_text=numbers.share(1.0),
        after_text=numbers.share(after),
    )
