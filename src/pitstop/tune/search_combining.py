"""Which survivors go together: the full combination first, because it is usually right, then only what pays.

`climb` is written as if measuring were a function call: it yields the set it wants measured and is sent what is known
of it (None: failed, or needs too much memory). `walk` runs it against the table up to the first set not yet measured, so
the algorithm keeps no state of its own and a replay of the observations repeats it.
"""

from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

import msgspec

from pitstop.records import Proposal
from pitstop.stats.screening import ScreenEstimate
from pitstop.tune.search_actions import Key
from pitstop.tune.search_facts import Facts, Table, canonical
from pitstop.tune.search_screening import (
    beyond_ceiling,
    difference_error,
    groups_of,
    knee,
    pays,
    survivors,
    unusable_singles,
    usable,
)

__all__ = ["Climb", "Unknown", "best_known", "choose_finalists", "climb", "walk"]

Climb = Generator[Key, ScreenEstimate | None, Key]
Answer = TypeVar("Answer")
Result = TypeVar("Result")

_MOST_ROUNDS = 3
# The full combination is taken as it is when it keeps this share of what its members gained one by one, beyond the best
# single: gains of members that work on the same part of the step overlap (Amdahl), and two halves would not pay.
_FULL_KEEPS = 0.5


class Unknown(msgspec.Struct, frozen=True):
    """The set that must be measured (or checked) before a walk can go on."""

    key: Key


def walk(steps: Generator[Key, Answer, Result], known: Callable[[Key], Answer | Unknown]) -> Result | Unknown:
    """Run `steps` on what is known; return its result, or the first thing that is not known."""
    try:
        wanted = next(steps)
        while True:
            answer = known(wanted)
            if isinstance(answer, Unknown):
                return answer
            wanted = steps.send(answer)
    except StopIteration as end:
        result: Result = end.value
        return result


def climb(facts: Facts, table: Table, *, excluded: frozenset[str], forbidden: frozenset[Key]) -> Climb:
    """Return (as the generator's value) the best set found; () where nothing pays.

    `excluded` proposals and `forbidden` sets failed a numerics gate and are not built upon.
    """
    singles = [key for key in survivors(facts, table, excluded=excluded) if key not in forbidden]
    if not singles:
        return ()
    current, estimate = singles[0], table.estimates[singles[0]]
    if len(singles) > 1:
        current, estimate = yield from _combine(singles, facts=facts, table=table, forbidden=forbidden)
    for _ in range(_MOST_ROUNDS):
        before = current
        for change in list(_variations(current, estimate, facts=facts, table=table, excluded=excluded)):
            # a variation is of the set that the round began with; a later one is applied on top of what was gained
            key = _apply(change, current, facts=facts)
            if key in forbidden or key == current:
                continue
            tried = yield key
            if tried is not None and pays(tried, estimate, facts=facts):
                current, estimate = key, tried
        if current == before:
            break
    return current


def best_known(facts: Facts, table: Table, *, excluded: frozenset[str], forbidden: frozenset[Key]) -> Key:
    """Return the best set measured so far that pays, for when the budget forbids more; () without any."""
    ranked = _ranked(facts, table, excluded=excluded, forbidden=forbidden)
    return ranked[0] if ranked else ()


def choose_finalists(
    best: Key, *, facts: Facts, table: Table, excluded: frozenset[str], forbidden: frozenset[Key]
) -> tuple[Key, ...]:
    """Return the sets to confirm, the best first: it alone where screening left no doubt that it clears the margin.

    Otherwise the next best measured sets stand beside it, since the choice between them was by noise.
    """
    estimate = table.estimates[best]
    clear = pays(estimate, None, facts=facts) and estimate.log_ratio > 3 * estimate.standard_error
    if clear or facts.options.max_finalists == 1:
        return (best,)
    others = [key for key in _ranked(facts, table, excluded=excluded, forbidden=forbidden) if key != best]
    close = [
        key
        for key in others
        if estimate.log_ratio - table.estimates[key].log_ratio < difference_error(estimate, table.estimates[key])
    ]
    return (best, *close[: facts.options.max_finalists - 1])


def _combine(
    singles: list[Key], *, facts: Facts, table: Table, forbidden: frozenset[Key]
) -> Generator[Key, ScreenEstimate | None, tuple[Key, ScreenEstimate]]:
    best, estimate = singles[0], table.estimates[singles[0]]
    full = canonical((name for key in singles for name in key), proposals=facts.proposals)
    whole = None if full in forbidden else (yield full)
    if whole is not None:
        expected = sum(table.estimates[key].log_ratio for key in singles[1:])
        gained = whole.log_ratio - estimate.log_ratio
        if gained >= _FULL_KEEPS * expected and pays(whole, None, facts=facts):
            return full, whole
    for single in singles[1:]:
        wider = canonical((*best, *single), proposals=facts.proposals)
        if wider in forbidden:
            continue
        tried = yield wider
        if tried is not None and pays(tried, estimate, facts=facts):
            best, estimate = wider, tried
    if whole is not None and pays(whole, estimate, facts=facts):
        return full, whole
    return best, estimate


def _variations(
    current: Key, estimate: ScreenEstimate, *, facts: Facts, table: Table, excluded: frozenset[str]
) -> Iterator[Proposal]:
    """Yield what to put into the current set: neighbours on its own ladders, then members of other groups.

    A treatment that gained nothing alone may gain once another has moved the bottleneck, and the best setting of one
    may move with another (threads with workers), so what did not clearly harm gets a second chance on top.
    """
    bad = excluded | unusable_singles(table)
    swaps: list[tuple[float, Proposal]] = []
    additions: list[tuple[float, Proposal]] = []
    for ladder in groups_of(facts.proposals):
        names = [proposal.name for proposal in ladder]
        inside = next((index for index, name in enumerate(names) if name in current), None)
        if inside is not None:
            if len(current) > 1:
                swaps += [
                    (_single_gain(ladder[index], table=table), ladder[index])
                    for index in (inside - 1, inside + 1)
                    if 0 <= index < len(ladder) and names[index] not in bad
                ]
            continue
        found = knee(ladder, facts=facts, table=table, excluded=excluded)
        candidate = next((one for one in ladder if (one.name,) == found), None) or next(
            (one for one in ladder if one.name not in bad), None
        )
        if candidate is None or beyond_ceiling(candidate, facts=facts, speedup=estimate.speedup):
            continue
        alone = table.estimates.get((candidate.name,))
        if alone is None or alone.log_ratio + 2 * alone.standard_error > 0:
            additions.append((_single_gain(candidate, table=table), candidate))
    for _, proposal in sorted(additions, key=lambda pair: -pair[0]):
        yield proposal
    for _, proposal in sorted(swaps, key=lambda pair: -pair[0]):
        yield proposal


def _apply(change: Proposal, current: Key, *, facts: Facts) -> Key:
    group = {proposal.name: proposal.group for proposal in facts.proposals}
    kept = (name for name in current if group[name] != change.group)
    return canonical((*kept, change.name), proposals=facts.proposals)


def _single_gain(proposal: Proposal, *, table: Table) -> float:
    alone = table.estimates.get((proposal.name,))
    return alone.log_ratio if alone else 0.0


def _ranked(facts: Facts, table: Table, *, excluded: frozenset[str], forbidden: frozenset[Key]) -> list[Key]:
    found = [
        key
        for key, estimate in table.estimates.items()
        if usable(key, table=table)
        and key not in forbidden
        and not excluded & set(key)
        and pays(estimate, None, facts=facts)
    ]
    return sorted(found, key=lambda key: (-table.estimates[key].log_ratio, len(key)))
