"""The ledger as one stacked bar: places and widths in percent, so that it fits any page."""

import msgspec

from pitstop.report.content.ledger import LedgerRow

_LABEL_FROM = 0.09  # a narrower part has no room for its share as text


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the bar. `label` is "" where there is no room for it."""

    category: str
    start: float
    width: float
    middle: float
    label: str
    title: str


def ledger_bar(rows: tuple[LedgerRow, ...]) -> tuple[Segment, ...]:
    """Return the parts from left to right, in the order of `rows`."""
    segments: list[Segment] = []
    start = 0.0
    for row in rows:
        width = 100 * row.share
        segments.append(
            Segment(
                category=row.category,
                start=round(start, 3),
                width=round(width, 3),
                middle=round(start + width / 2, 3),
                label=row.share_text if row.share >= _LABEL_FROM else "",
                title=f"{row.name}: {row.share_text}",
            )
        )
        start += width
    return tuple(segments)
