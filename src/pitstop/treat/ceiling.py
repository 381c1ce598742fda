"""Amdahl's law on the ledger: the most that removing some categories of time could gain."""

from math import inf

from pitstop.records import Category, Ledger

__all__ = ["amdahl"]


def amdahl(ledger: Ledger, *categories: Category) -> float:
    """Return whole time / time without `categories`; inf where the ledger is empty or nothing else takes time."""
    if not ledger.wall_ns:
        return inf
    rest_ns = ledger.wall_ns - sum(ledger.categories_ns.get(category, 0) for category in categories)
    return ledger.wall_ns / rest_ns if rest_ns > 0 else inf
