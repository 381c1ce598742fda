"""Which line of the user's source stack samples were in."""

from collections import Counter
from collections.abc import Sequence

from pitstop.records import GAP_CATEGORIES

__all__ = ["hottest"]


def hottest(stack_samples: Sequence[tuple[str, int]], *categories: str) -> str | None:
    """Return the place (file:line) that most samples of these categories were in; None where no sample has one.

    A category is one of the ledger, or one of `GAP_CATEGORIES`, which count as what they stand for as well.
    """
    lines: Counter[str] = Counter()
    for where, count in stack_samples:
        category, _, text = where.partition("|")
        if not {category, GAP_CATEGORIES.get(category)}.isdisjoint(categories) and not text.startswith("?"):
            lines[text.split(" ")[0]] += count
    return lines.most_common(1)[0][0] if lines else None
