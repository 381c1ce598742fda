"""The interval plot of verdicts: one mark per row of the table, on one logarithmic axis."""

import math

import msgspec

from pitstop.report import numbers
from pitstop.report.content.verdicts import VerdictRow
from pitstop.report.html.scale import RatioScale, ratio_scale


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """One labelled place on an axis, in percent."""

    at: float
    text: str


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict on the axis, in percent: an interval where one was measured, hollow where it is no claim."""

    at: float
    low: float | None
    high: float | None
    claimed: bool
    text: str


class Forest(msgspec.Struct, frozen=True, kw_only=True):
    """The axis and a mark per verdict (None where no speed was measured). `margin_*` bound what counts as no difference."""

    one: float
    margin_low: float
    margin_high: float
    ticks: tuple[Tick, ...]
    marks: tuple[Mark | None, ...]


def forest_plot(rows: tuple[VerdictRow, ...], *, margin: float) -> Forest:
    """Return the plot for the verdict table, its marks in the order of `rows`."""
    values = [row.speedup for row in rows if row.speedup is not None]
    values += [end for row in rows if row.ci is not None for end in row.ci]
    scale = ratio_scale(values)
    return Forest(
        one=scale.place(1.0),
        margin_low=scale.place(1 / (1 + margin)),
        margin_high=scale.place(1 + margin),
        ticks=tuple(Tick(at=scale.place(ratio), text=numbers.round_ratio(ratio)) for ratio in scale.ticks()),
        marks=tuple(_mark(row, scale=scale) for row in rows),
    )


def _mark(row: VerdictRow, *, scale: RatioScale) -> Mark | None:
    if row.speedup is None or not math.isfinite(row.speedup) or row.speedup <= 0:
        return None
    known = row.ci is not None and 0 < row.ci[0] <= row.ci[1]
    return Mark(
        at=scale.place(row.speedup),
        low=scale.place(row.ci[0]) if known and row.ci else None,
        high=scale.place(row.ci[1]) if known and row.ci else None,
        claimed=row.claimed,
        text=f"{row.change}: {row.speedup_text}, {row.how}",
    )
