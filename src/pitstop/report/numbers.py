"""The one place where numbers become text, in both languages. Values come in nanoseconds, bytes and plain ratios.

Nothing else in `pitstop.report` formats a number, so that a reader meets one spelling of each kind.
"""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

from pitstop.messages import say

NO_NUMBER = "–"
_MAX_RATIO_DECIMALS = 3


def bytes_text(num_bytes: int) -> str:
    """Return bytes in binary units with three significant figures: "1.46 GiB"."""
    if num_bytes < 1024:
        return f"{num_bytes} B"
    size, unit = num_bytes / 1024, "KiB"
    for larger in ("MiB", "GiB", "TiB"):
        if round(size) < 1024:
            break
        size, unit = size / 1024, larger
    return f"{_three_figures(size)} {unit}"


def count(number: int) -> str:
    """Return a whole number with thousands separators: "12,400"."""
    return f"{number:,}"


def duration(elapsed_ns: float) -> str:
    """Return elapsed time in the unit that people would choose: "850 ns", "38.4 ms", "14.2 s", "6 min 12 s"."""
    for limit_ns, unit_ns, unit in ((999.5, 1, "ns"), (999.5e3, 1e3, "µs"), (999.5e6, 1e6, "ms"), (59.95e9, 1e9, "s")):
        if elapsed_ns < limit_ns:
            return f"{_three_figures(elapsed_ns / unit_ns)} {unit}" if unit != "ns" else f"{round(elapsed_ns)} ns"
    seconds = round(elapsed_ns / 1e9)
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return say("report.number.minutes", minutes=minutes, seconds=seconds)
    hours, minutes = divmod(minutes, 60)
    return say("report.number.hours", hours=count(hours), minutes=minutes)


def rough_duration(elapsed_s: float) -> str:
    """Return a time in whole seconds or more ("8 s", "6 min 12 s"), which does not flicker while it is counted."""
    seconds = max(round(elapsed_s), 0)
    return f"{seconds} s" if seconds < 60 else duration(seconds * 1e9)


def milliseconds(elapsed_ns: float) -> str:
    """Return a time per step, always in milliseconds so that a column can be compared by eye: "0.412 ms", "38.4 ms"."""
    value = elapsed_ns / 1e6
    if 0 < value < 0.0005:
        return "<0.001 ms"
    return f"{_three_figures(value)} ms"


def share(part: float) -> str:
    """Return a share of a whole (0 to 1) as a percentage; "100 %" and "0 %" are said only of the whole and of nothing."""
    percent = part * 100
    if part <= 0:
        text = "0"
    elif percent < 0.05:
        text = "<0.1"
    elif part < 1 and percent >= 99.95:
        text = ">99.9"
    elif percent < 9.95 or 99.5 <= percent < 100:
        text = f"{percent:.1f}".removesuffix(".0")
    else:
        text = f"{percent:.0f}"
    return say("report.number.share", percent=text)


def ratio(speedup: float, ci: tuple[float, float] | None = None) -> str:
    """Return a speed-up (baseline time / treated time) with its interval: "2.31x [2.18, 2.44]".

    The ends of the interval are rounded outwards, so that the text never claims more than was measured. A narrow
    interval gets a third decimal, where two would show both ends alike.
    """
    decimals = _ratio_decimals(speedup, ci)
    text = say("report.number.times", ratio=_rounded(speedup, decimals, ROUND_HALF_EVEN))
    return text if ci is None else f"{text} {_bracket(ci, decimals)}"


def interval(ci: tuple[float, float]) -> str:
    """Return an interval of a speed-up alone: "[2.18, 2.44]", ends rounded outwards."""
    return _bracket(ci, _ratio_decimals(max(ci), ci))


def round_ratio(ratio: float) -> str:
    """Return a round speed-up for an axis, without needless decimals: "2x", "0.5x"."""
    return say("report.number.times", ratio=f"{ratio:g}")


def measured(value: float | None) -> str:
    """Return a bare measured value or limit of any size ("0.0009", "1.2e-08"); an en dash where there is none."""
    if value is None:
        return NO_NUMBER
    if math.isfinite(value) and value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.3g}"


def _bracket(ci: tuple[float, float], decimals: int) -> str:
    return f"[{_rounded(ci[0], decimals, ROUND_FLOOR)}, {_rounded(ci[1], decimals, ROUND_CEILING)}]"


def _ratio_decimals(speedup: float, ci: tuple[float, float] | None) -> int:
    if speedup >= 99.5:
        return 0
    if speedup >= 9.95:
        return 1
    return _MAX_RATIO_DECIMALS if ci is not None and ci[1] - ci[0] < 0.02 else 2


def _rounded(value: float, decimals: int, rounding: str) -> str:
    # Through repr: 2.3 * 100 is 229.99999999999997 in floating point, and its floor would be 2.29.
    return str(Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), rounding=rounding))


def _three_figures(value: float) -> str:
    for limit, decimals in ((0.9995, 3), (9.995, 2), (99.95, 1)):
        if value < limit:
            return f"{value:.{decimals}f}"
    return f"{value:.0f}"
