"""The ledger over the run: one stacked bar per stretch of steps, in percent of the plot."""

import msgspec

from pitstop.records.results import LedgerStretch
from pitstop.records.steps import CATEGORIES, Category
from pitstop.report import numbers
from pitstop.report.content.labels import label


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """One category in one stretch: its upper edge from the top and its height."""

    category: str
    top: float
    height: float


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch of steps; no layers where nothing was seen in detail. `title` says the three largest shares."""

    start: float
    width: float
    layers: tuple[Layer, ...]
    title: str


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One category that the plot shows."""

    category: str
    name: str


class LedgerTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """The plot. `warmup` is the width in percent that the warm-up takes; `keys` come in the order of the layers, from below."""

    columns: tuple[Column, ...]
    keys: tuple[Key, ...]
    warmup: float
    steps: str
    has_gaps: bool


def ledger_timeline(stretches: tuple[LedgerStretch, ...], *, warmup: int) -> LedgerTimeline | None:
    """Return the plot, or None where there are too few stretches for one to say anything (under 3)."""
    if len(stretches) < 3:
        return None
    steps = stretches[-1].last_step
    shown = [name for name in CATEGORIES if any(stretch.shares.get(name, 0.0) > 0 for stretch in stretches)]
    return LedgerTimeline(
        columns=tuple(_column(stretch, steps=steps, order=shown) for stretch in stretches),
        keys=tuple(Key(category=name, name=label("category", name)) for name in shown),
        warmup=round(100 * min(warmup, steps) / steps, 2),
        steps=numbers.count(steps),
        has_gaps=any(not stretch.shares for stretch in stretches),
    )


def _column(stretch: LedgerStretch, *, steps: int, order: list[Category]) -> Column:
    layers = []
    below = 0.0
    for name in order:
        height = 100 * max(0.0, min(stretch.shares.get(name, 0.0), 1.0))
        if height > 0:
            below += height
            layers.append(Layer(category=name, top=round(100 - below, 2), height=round(height, 2)))
    largest = sorted(stretch.shares.items(), key=lambda item: -item[1])[:3]
    steps_text = f"{numbers.count(stretch.first_step)}–{numbers.count(stretch.last_step)}"
    return Column(
        start=round(100 * (stretch.first_step - 1) / steps, 3),
        width=round(100 * (stretch.last_step - stretch.first_step + 1) / steps, 3),
        layers=tuple(layers),
        title=": ".join(
            filter(None, (steps_text, ", ".join(f"{label('category', n)} {numbers.share(p)}" for n, p in largest)))
        ),
    )
