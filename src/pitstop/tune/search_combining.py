"""Which survivors go together: the full combination first, because it is usually right, then only what pays."""

import math
from collections.abc import Callable, Iterator

from pitstop.records import Numerics, Proposal
from pitstop.stats.screening import ScreenEstimate
from pitstop.tune.search_actions import Key
from pitstop.tune.search_facts import canonical
from pitstop.tune.search_ranking import best_known
from pitstop.tune.search_screening import (
    beyond_ceiling,
    clearly_harms,
    clearly_pays,
    groups_of,
    knee,
    pays,
    survivors,
    unclear_difference,
    unusable_singles,
)
from pitstop.tune.search_walk import Measuring, View, Wanted

__all__ = ["climb"]

_MOST_ROUNDS = 3
# The full combination is taken as it is when it keeps this share of what its members gained one by one, beyond the best
# single: gains of members that work on the same part of the step overlap (Amdahl), and two halves would not pay.
_FULL_KEEPS = 0.5
# What harmed alone is tried before everything else where Amdahl leaves it so much, unless its trial is dear.
_GREAT_POTENTIAL = 1.25
# Dear is a first trial of more than this many baselines that also takes this share of what is left of the budget.
_NO_DEARER = 1.5
_DEAR_SHARE = 0.1
_BEYOND_ROUNDING = frozenset({Numerics.PRECISION, Numerics.TRAINING})

Found = tuple[Key, ScreenEstimate]


def climb(view: View) -> Measuring[Key]:
    """Return (as the generator's value) the best set found; () where nothing pays.

    Survivors of screening together; on top of them what harmed alone but could gain most now, because workers may take
    processor time from the model until the model needs less of it; then everything that did not clearly harm, at once,
    since some treatments gain only in company (more workers only with fewer threads); then single changes, until none pays.
    What came along with everything else is left out again after the first round of these, since they can bring more.
    """
    singles = [key for key in survivors(view.facts, view.table, excluded=view.excluded) if key not in view.forbidden]
    if not singles:
        return best_known(view)  # a set may pay of which no member was seen to pay alone
    sure = [key for key in singles if clearly_pays(view.table.estimates[key], facts=view.facts)]
    found = yield from _combine(sure or singles, view=view)
    found = yield from _with_moved_bottleneck(found, view=view)
    start = found[0]
    found = yield from _with_everything(found, view=view)
    joined = frozenset(found[0]) - frozenset(start)
    for number in range(_MOST_ROUNDS):
        before = found
        for change in (*_additions(found, view=view), *_swaps(found, view=view), *_second_chances(found, view=view)):
            # a later change is tried on top of what the round has gained so far
            key = _apply([change], found[0], view=view)
            if key not in view.forbidden and key != found[0] and not _contained(change, found, view=view):
                found = yield from _better(key, found, view=view)
        if number == 0:
            found = yield from _without_passengers(found, joined, start=start, view=view)
        if found[0] == before[0]:
            break
    return found[0]


def _combine(singles: list[Key], *, view: View) -> Measuring[Found]:
    """Take the singles together if that keeps most of their gains, else add them one by one as far as each pays."""
    found = singles[0], view.table.estimates[singles[0]]
    if len(singles) == 1:
        return found
    full = canonical((name for key in singles for name in key), proposals=view.facts.proposals)
    whole = None if full in view.forbidden else (yield Wanted(full))
    if whole is not None:
        expected = sum(view.table.estimates[key].log_ratio for key in singles[1:])
        if whole.log_ratio - found[1].log_ratio >= _FULL_KEEPS * expected and pays(whole, None, facts=view.facts):
            return full, whole
    for single in singles[1:]:
        wider = canonical((*found[0], *single), proposals=view.facts.proposals)
        if wider not in view.forbidden:
            found = yield from _better(wider, found, view=view)
    if whole is not None and pays(whole, found[1], facts=view.facts):
        return full, whole
    return found


def _with_moved_bottleneck(found: Found, *, view: View) -> Measuring[Found]:
    """Add one setting of each group that harmed alone and whose share of the step has become large, if its trial is no dearer."""
    for group, settings in _harmful_alone(found, view=view, harmed=lambda one: not _harmless(one, view=view)):
        key = _apply([settings[0]], found[0], view=view)
        if _potential(group, found) < _GREAT_POTENTIAL or _dear(settings[0], view=view) or key in view.forbidden:
            continue
        if not _contained(settings[0], found, view=view):
            found = yield from _better(key, found, view=view)
    return found


def _with_everything(found: Found, *, view: View) -> Measuring[Found]:
    """Add all additions at once, also with the next setting up a ladder, where that pays."""
    additions = [
        one
        for one in _additions(found, view=view)
        if _harmless(one, view=view)
        and not _changes_numbers(one, found, view)
        and not _dear(one, view=view)
        and not _contained(one, found, view=view)
    ]
    # Of one worker with one thread, and one thread, the former says both.
    additions = [
        one
        for one in additions
        if not (one.setting and any(one.setting.items() < other.setting.items() for other in additions))
    ]
    start = found
    for swap in (None, *_swaps(found, view=view, upward=True)):
        changes = [*additions, swap] if swap else additions
        key = _apply(changes, start[0], view=view)
        if len(changes) > 1 and key not in view.forbidden:
            found = yield from _better(key, found, view=view)
    return found


def _without_passengers(found: Found, joined: frozenset[str], *, start: Key, view: View) -> Measuring[Found]:
    """Leave out of the set, one by one, what joined `start` together with others and does not pay; a ladder goes back to its rung there."""
    group = {proposal.name: proposal.group for proposal in view.facts.proposals}
    for name in sorted(joined & set(found[0]), key=lambda one: _single_gain(one, view=view)):
        was = (other for other in start if group[other] == group[name])
        less = canonical((*(other for other in found[0] if other != name), *was), proposals=view.facts.proposals)
        if less in view.forbidden:
            continue
        without = yield Wanted(less)
        if without is not None:
            found = yield from _better(found[0], (less, without), view=view)
    return found


def _better(candidate: Key, current: Found, *, view: View) -> Measuring[Found]:
    """Return the one to go on with; while it is unclear whether the change pays, whichever has fewer runs runs again."""
    key, estimate = current
    while True:
        tried = yield Wanted(candidate)
        if tried is None:
            return current
        if not unclear_difference(tried, estimate, facts=view.facts):
            break
        again, runs = (candidate, tried.runs) if tried.runs <= estimate.runs else (key, estimate.runs)
        if runs >= view.facts.options.screen_runs:
            break
        more = yield Wanted(again, runs + 1)
        if more is None or more.runs <= runs:  # the machine is too busy for another run
            break
        # Reached only when walked again with a table that has the run: both estimates are then those of that table.
        estimate = view.table.estimates[key]
    return (candidate, tried) if pays(tried, estimate, facts=view.facts) else (key, estimate)


def _additions(found: Found, *, view: View) -> Iterator[Proposal]:
    """Yield one setting of every group outside the set that did not clearly harm alone, the best first.

    What gained nothing alone may gain once another treatment has moved the bottleneck.
    """
    bad = view.excluded | unusable_singles(view.table)
    additions = []
    for ladder in groups_of(view.facts.proposals):
        if any(one.name in found[0] for one in ladder):
            continue
        candidate = _best_measured(ladder, view=view) or next((one for one in ladder if one.name not in bad), None)
        if candidate is None or beyond_ceiling(candidate, facts=view.facts, speedup=found[1].speedup):
            continue
        if not clearly_harms(candidate, table=view.table):
            additions.append(candidate)
    yield from sorted(additions, key=lambda one: -_single_gain(one.name, view=view))


def _second_chances(found: Found, *, view: View) -> Iterator[Proposal]:
    """Yield the settings whose trial alone was not worth its time, and those that harmed alone, of groups outside the set."""
    bad = view.excluded | unusable_singles(view.table)
    for _ladder, settings in _harmful_alone(found, view=view, harmed=lambda one: clearly_harms(one, table=view.table)):
        yield from settings
    for ladder in groups_of(view.facts.proposals):
        best = _best_measured(ladder, view=view)
        inside = any(one.name in found[0] for one in ladder)
        if best is None or inside or clearly_harms(best, table=view.table):
            continue
        for one in ladder:
            untried = one.name not in bad and (one.name,) not in view.table.estimates
            if untried and not beyond_ceiling(one, facts=view.facts, speedup=found[1].speedup):
                yield one


def _harmful_alone(
    found: Found, *, view: View, harmed: Callable[[Proposal], bool]
) -> list[tuple[tuple[Proposal, ...], tuple[Proposal, ...]]]:
    """Return ladders that harmed alone by less than the set gained, the greatest potential first, each with what to try of it.

    That is the best that was measured, then what was not.
    """
    bad = view.excluded | unusable_singles(view.table)
    chances = []
    for ladder in groups_of(view.facts.proposals):
        best = _best_measured(ladder, view=view)
        if best is None or any(one.name in found[0] for one in ladder) or not harmed(best):
            continue
        if found[1].log_ratio + _single_gain(best.name, view=view) > 0:
            rest = (one for one in ladder if one.name not in bad and (one.name,) not in view.table.estimates)
            chances.append((ladder, (best, *rest)))
    return sorted(chances, key=lambda one: -_potential(one[0], found))


def _potential(ladder: tuple[Proposal, ...], found: Found) -> float:
    """Return Amdahl's bound on what a group could still bring: its share has grown with the set's speed-up."""
    known = [one.ceiling for one in ladder if not math.isinf(one.ceiling)]
    removable = (1.0 - 1.0 / max(1.0, *known)) * found[1].speedup if known else 0.0
    return 1.0 / (1.0 - removable) if removable < 1.0 else math.inf


def _contained(proposal: Proposal, found: Found, *, view: View) -> bool:
    """Whether a member of the set sets all that the proposal would (one thread is part of one worker with one thread)."""
    inside = (one for one in view.facts.proposals if one.name in found[0])
    return bool(proposal.setting) and any(proposal.setting.items() <= one.setting.items() for one in inside)


def _best_measured(ladder: tuple[Proposal, ...], *, view: View) -> Proposal | None:
    best = knee(ladder, facts=view.facts, table=view.table, excluded=view.excluded)
    return next((one for one in ladder if (one.name,) == best), None)


def _swaps(found: Found, *, view: View, upward: bool = False) -> Iterator[Proposal]:
    """Yield the neighbours, on their own ladders, of the settings in the set, the best first.

    The best setting of one treatment may move with another (threads with workers); in a set of one it cannot have.
    """
    bad = view.excluded | unusable_singles(view.table)
    swaps = []
    for ladder in groups_of(view.facts.proposals):
        inside = next((index for index, one in enumerate(ladder) if one.name in found[0]), None)
        if inside is not None and (upward or len(found[0]) > 1):
            places = (inside + 1,) if upward else (inside - 1, inside + 1)
            swaps += [ladder[at] for at in places if 0 <= at < len(ladder) and ladder[at].name not in bad]
    yield from sorted(swaps, key=lambda one: -_single_gain(one.name, view=view))


def _apply(changes: list[Proposal], key: Key, *, view: View) -> Key:
    group = {proposal.name: proposal.group for proposal in view.facts.proposals}
    changed = {change.group for change in changes}
    kept = (name for name in key if group[name] not in changed)
    return canonical((*kept, *(change.name for change in changes)), proposals=view.facts.proposals)


def _changes_numbers(proposal: Proposal, found: Found, view: View) -> bool:
    """Whether the proposal would bring a numerics class beyond rounding that the set does not have: it has to pay by itself."""
    there = {one.numerics for one in view.facts.proposals if one.name in found[0]}
    return proposal.numerics in _BEYOND_ROUNDING and proposal.numerics not in there


def _dear(proposal: Proposal, *, view: View) -> bool:
    """Whether the proposal's first trial alone cost much more than a baseline's, and much of what is left: a compiler, mostly.

    What compiles and was not tried yet is taken for dear where there is a budget.
    """
    baseline = view.table.wall_ns.get((), 0.0)
    cost = view.table.first_wall_ns.get((proposal.name,), math.inf if proposal.compiles else baseline)
    return cost > max(_NO_DEARER * baseline, _DEAR_SHARE * view.facts.left_ns)


def _harmless(proposal: Proposal, *, view: View) -> bool:
    alone = view.table.estimates.get((proposal.name,))
    return alone is None or alone.log_ratio + alone.standard_error > 0


def _single_gain(name: str, *, view: View) -> float:
    alone = view.table.estimates.get((name,))
    return alone.log_ratio if alone else 0.0
