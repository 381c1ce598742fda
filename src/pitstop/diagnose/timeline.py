"""The ledger over time: shares per stretch of steps, for a picture of how a run changes; the whole is `pitstop.diagnose.account`'s."""

from collections import Counter
from collections.abc import Mapping, Sequence

from pitstop.diagnose.account import Span, categories_in, spans_of
from pitstop.diagnose.pauses import Stretch, find_pauses
from pitstop.records import CATEGORIES, Category, Event, Steps
from pitstop.records.results import LedgerStretch

__all__ = ["ledger_timeline"]

MOST_STRETCHES = 60


def ledger_timeline(
    events: Sequence[Event],
    steps: Steps,
    *,
    gap_shares: Mapping[Category, float] | None = None,
    spans: Sequence[Span] | None = None,
) -> tuple[LedgerStretch, ...]:
    """Return at most MOST_STRETCHES stretches of equally many steps each, warm-up included, that cover all steps.

    What the probe did not look at (pauses) counts for nothing, so that a stretch inside a pause has no shares.
    `gap_shares` and `spans` as for `account`.
    """
    per_stretch = -(-steps.count // MOST_STRETCHES)
    times = steps.stretches
    groups = [times[first : first + per_stretch] for first in range(0, steps.count, per_stretch)]
    pauses = find_pauses(sorted(events, key=lambda event: event.start_ns))
    seen = [_outside((group[0][0], group[-1][1]), pauses) for group in groups]
    counted = iter(
        categories_in(spans_of(events, steps) if spans is None else spans, [part for parts in seen for part in parts])
    )
    found = []
    for number, parts in enumerate(seen):
        first = number * per_stretch + 1
        spent: Counter[str] = sum((next(counted) for _ in parts), Counter())
        whole = sum(end - start for start, end in parts)
        gap = whole - spent.total()
        named: dict[str, int] = {name: round(gap * share) for name, share in (gap_shares or {}).items()}
        spent.update({**named, "unknown": gap - sum(named.values())})
        shares = {category: round(spent[category] / whole, 4) for category in CATEGORIES if whole and spent[category]}
        found.append(LedgerStretch(first_step=first, last_step=first + len(groups[number]) - 1, shares=shares))
    return tuple(found)


def _outside(stretch: Stretch, pauses: Sequence[Stretch]) -> list[Stretch]:
    """Return the parts of `stretch` in no pause."""
    parts = []
    at, end = stretch
    for pause_start, pause_end in pauses:
        if pause_end <= at or pause_start >= end:
            continue
        if pause_start > at:
            parts.append((at, pause_start))
        at = max(at, pause_end)
    if at < end:
        parts.append((at, end))
    return parts
