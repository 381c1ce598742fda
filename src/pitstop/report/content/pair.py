"""Two runs or versions side by side, as text: what the reports of `pitstop gate` and `pitstop compare` have in common."""

from collections.abc import Mapping

import msgspec

from pitstop.records.steps import Category
from pitstop.report import numbers
from pitstop.report.content.facts import Fact
from pitstop.report.content.labels import label

__all__ = ["PairPage", "PairRow", "ledger_pairs"]

_LEAST_SHARE = 0.005  # of the longer of two steps; smaller parts are not listed


class PairRow(msgspec.Struct, frozen=True, kw_only=True):
    """One category of the ledger in both: time per step, and by how much it changed as a share of the first one's step."""

    category: str
    name: str
    first: str
    second: str
    change: str


class PairPage(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a reader sees, in reading order. `titles` head the two columns; `note` says what the rows are."""

    title: str
    headline: str
    good: bool | None  # None: neither
    caveats: tuple[str, ...]
    program: str
    titles: tuple[str, str]
    rows: tuple[PairRow, ...]
    note: str
    facts: tuple[Fact, ...]


def ledger_pairs(first: Mapping[Category, int], second: Mapping[Category, int]) -> tuple[PairRow, ...]:
    """Return the categories by how much they changed, the greatest first. Values are nanoseconds per step."""
    whole = max(sum(first.values()), sum(second.values()), 1)
    step = max(1, sum(first.values()))
    names = [
        name for name in {**first, **second} if max(first.get(name, 0), second.get(name, 0)) >= _LEAST_SHARE * whole
    ]
    names.sort(key=lambda name: (-abs(second.get(name, 0) - first.get(name, 0)), name))
    return tuple(
        PairRow(
            category=name,
            name=label("category", name),
            first=numbers.milliseconds(first.get(name, 0)),
            second=numbers.milliseconds(second.get(name, 0)),
            change=f"{(second.get(name, 0) - first.get(name, 0)) / step:+.1%}".replace("%", " %"),
        )
        for name in names
    )
