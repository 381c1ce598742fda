"""What a rule is: facts in, at most one finding out."""

from collections.abc import Callable

import msgspec

from pitstop.messages import Text
from pitstop.records import Evidence, Ledger, TreeUsage
from pitstop.records.results import Finding

__all__ = ["Facts", "Rule", "ceiling"]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a rule may look at."""

    evidence: Evidence
    ledger: Ledger
    train_loaders: frozenset[int]
    usage: TreeUsage


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One fault: its id, its numbers in the catalogue of faults, its words, and the function that looks for it."""

    fault: str
    catalogue: tuple[str, ...]
    layer: str
    title: Text
    next_action: Text
    find: Callable[[Facts], Finding | None]


def ceiling(share: float) -> float:
    """Return the most that removing `share` of the step time can gain (Amdahl): 1 / (1 - share)."""
    return 1.0 / (1.0 - share) if share < 1.0 else float("inf")
