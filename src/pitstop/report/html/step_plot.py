"""The time of each step over the run, warm-up shaded: bars in percent, several steps per bar where there are many."""

import statistics

import msgspec

from pitstop.report import numbers
from pitstop.report.html.forest import Tick
from pitstop.report.html.scale import round_step

MOST_BARS = 200
_TOP_SHARE = (
    0.98  # the axis ends a little above what this share of the steady steps stays below; the rest is cut and said
)


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """Steps `first` to `last` (from 1): mean and highest as height in percent; `cut` where the highest leaves the plot, `warm` in warm-up."""

    first: int
    last: int
    start: float
    width: float
    mean: float
    highest: float
    cut: bool
    warm: bool
    mean_text: str
    highest_text: str


class StepPlot(msgspec.Struct, frozen=True, kw_only=True):
    """The plot. `warmup` is the shaded width in percent; `mean` the height of the steady mean."""

    bars: tuple[Bar, ...]
    warmup: float
    mean: float
    mean_text: str
    ticks: tuple[Tick, ...]
    steps: str
    num_cut: str
    highest_text: str


def step_plot(times_ns: tuple[int, ...], *, warmup: int) -> StepPlot | None:
    """Return the plot, or None where there are too few steps for one to say anything (under 4)."""
    if len(times_ns) < 4:
        return None
    steady = times_ns[warmup:] or times_ns
    mean_ns = statistics.fmean(steady)
    top_ns = 1.12 * max(_quantile(steady, _TOP_SHARE), 1.25 * mean_ns)
    if top_ns <= 0:
        return None
    num_cut = sum(time > top_ns for time in times_ns)
    return StepPlot(
        bars=_bars(times_ns, warmup=warmup, top_ns=top_ns),
        warmup=round(100 * min(warmup, len(times_ns)) / len(times_ns), 3),
        mean=_height(mean_ns, top_ns),
        mean_text=numbers.milliseconds(mean_ns),
        ticks=_ticks(top_ns),
        steps=numbers.count(len(times_ns)),
        num_cut=numbers.count(num_cut) if num_cut else "",
        highest_text=numbers.milliseconds(max(times_ns)),
    )


def _bars(times_ns: tuple[int, ...], *, warmup: int, top_ns: float) -> tuple[Bar, ...]:
    per_bar = -(-len(times_ns) // MOST_BARS)
    width = 100 / len(times_ns)
    bars = []
    for first in range(0, len(times_ns), per_bar):
        some = times_ns[first : first + per_bar]
        mean_ns, highest_ns = statistics.fmean(some), max(some)
        bars.append(
            Bar(
                first=first + 1,
                last=first + len(some),
                start=round(first * width, 3),
                width=round(len(some) * width + 0.05, 3),  # a little over, or the renderer leaves gaps between bars
                mean=_height(mean_ns, top_ns),
                highest=_height(highest_ns, top_ns),
                cut=highest_ns > top_ns,
                warm=first < warmup,
                mean_text=numbers.milliseconds(mean_ns),
                highest_text=numbers.milliseconds(highest_ns),
            )
        )
    return tuple(bars)


def _ticks(top_ns: float) -> tuple[Tick, ...]:
    step_ns = round_step(top_ns, most=4)
    heights = (step_ns * number for number in range(1, int(top_ns / step_ns) + 1))
    return tuple(
        Tick(at=_height(height, top_ns), text=numbers.milliseconds(height))
        for height in heights
        if height < 0.95 * top_ns
    )


def _height(time_ns: float, top_ns: float) -> float:
    return round(100 * min(time_ns / top_ns, 1.0), 2)


def _quantile(values: tuple[int, ...], part: float) -> int:
    return sorted(values)[min(int(part * len(values)), len(values) - 1)]
