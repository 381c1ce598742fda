"""Which single proposal to measure next, and when enough is known: cheap, in order of promise, no claims.

Proposals of one group exclude each other and form a ladder in the order proposed (1, 2, 4 workers). Whoever proposes
puts the setting that asks least of the machine first: where several are as fast within noise, the first of them is taken.
"""

import math
from collections.abc import Sequence

from pitstop.records import Proposal
from pitstop.stats.screening import ScreenEstimate
from pitstop.tune.search_actions import Key
from pitstop.tune.search_ceilings import ruled_out, single_ceiling
from pitstop.tune.search_facts import Facts, Table

__all__ = [
    "beyond_ceiling",
    "clearly_harms",
    "clearly_pays",
    "difference_error",
    "everything",
    "groups_of",
    "knee",
    "next_single",
    "passed_over",
    "pays",
    "survivors",
    "unclear_difference",
    "untried",
    "unusable_singles",
    "usable",
]

# In standard errors of the difference. One is little for a claim, and none is made here: what wrongly stays costs a line
# in the patch and is caught by the confirmation if it harms, what wrongly goes is lost (bench/simulate_tunes.py).
_PAYS = 1.0
_CLEAR = 2.0
_UNKNOWN_CEILING = 1.3  # where a ceiling is infinite, i.e. not known: tried after what is known to promise more
_KNEE_COSTS_AT_MOST = 0.03  # log; a smaller setting is never taken at a greater measured loss, however loud the noise


def groups_of(proposals: tuple[Proposal, ...]) -> tuple[tuple[Proposal, ...], ...]:
    """Return the ladders, the one with the highest ceiling first."""
    ladders: dict[str, list[Proposal]] = {}
    for proposal in proposals:
        ladders.setdefault(proposal.group, []).append(proposal)
    return tuple(tuple(ladder) for ladder in sorted(ladders.values(), key=lambda ladder: -_promise(ladder)))


def next_single(
    facts: Facts, table: Table, *, excluded: frozenset[str] = frozenset(), forbidden: frozenset[Key] = frozenset()
) -> Key | None:
    """Return the proposal to screen next, or None when screening is done.

    Up the ladder whose ceiling is farthest above what it gained so far; once something clearly pays, ladders whose first
    setting harms are not climbed alone but on top of it (`climb`), where trials are shorter and nearer to what is delivered.
    Then, if nothing clearly pays, again those of which it is unclear, the most promising first; if something does, they too
    are tried on top of it. What is `excluded` or `forbidden` (unsafe) does not count as paying.
    """
    something_pays = any(
        clearly_pays(estimate, facts=facts)
        for key, estimate in table.estimates.items()
        if usable(key, table=table) and key not in forbidden and not excluded & set(key)
    )
    promising: tuple[float, Key] | None = None
    for ladder in groups_of(facts.proposals):
        rung = next((one for one in ladder if not _settled(one, facts=facts, table=table)), None)
        while rung is not None and passed_over(rung, facts=facts, table=table) is not None:
            rung = next(
                (one for one in ladder[ladder.index(rung) + 1 :] if not _settled(one, facts=facts, table=table)), None
            )
        if rung is None or (something_pays and clearly_harms(ladder[0], table=table)):
            continue
        gained = max(
            (table.estimates[key].log_ratio for one in ladder if (key := (one.name,)) in table.estimates), default=0.0
        )
        left = math.log(_promise_alone(ladder, facts=facts, table=table)) - max(0.0, gained)
        if promising is None or left > promising[0]:
            promising = left, (rung.name,)
    if promising is not None:
        return promising[1]
    if something_pays:
        return None
    unclear = [
        (estimate.log_ratio, key)
        for key, estimate in table.estimates.items()
        if len(key) == 1
        and key not in table.over_memory
        and key not in forbidden
        and key[0] not in excluded
        and estimate.runs < facts.options.screen_runs
        and table.busy.get(key, 0) < facts.options.busy_repeats
        and _unclear(estimate, facts=facts)
    ]
    return max(unclear)[1] if unclear else None


def everything(facts: Facts) -> Key:
    """Return the middle setting of every ladder that could matter, together: the one shot of a budget too small for more.

    A compiler would take what little there is.
    """
    return tuple(
        one.name
        for one in facts.proposals
        for ladder in groups_of(facts.proposals)
        if one is ladder[len(ladder) // 2] and not one.compiles and not beyond_ceiling(one, facts=facts)
    )


def untried(facts: Facts, table: Table) -> bool:
    """Whether a proposal that should be measured was not."""
    return any(
        not table.runs.get((one.name,)) and passed_over(one, facts=facts, table=table) is None
        for one in facts.proposals
    )


def passed_over(proposal: Proposal, *, facts: Facts, table: Table) -> str | None:
    """Return why a proposal is not measured on its own: "ceiling", "measured-ceiling", "slower-rung", "failed-rungs"; None if it should be."""
    if beyond_ceiling(proposal, facts=facts):
        return "ceiling"
    if ruled_out(proposal, facts=facts, table=table) is not None:
        return "measured-ceiling"
    earlier = []
    for other in facts.proposals:
        if other.name == proposal.name:
            break
        if other.group == proposal.group:
            earlier.append((other.name,))
    if len(earlier) >= 2 and all(key in table.failures for key in earlier):
        return "failed-rungs"
    known = [table.estimates[key] for key in earlier if key in table.estimates]
    if len(known) >= 2:
        best, last = max(known, key=lambda one: one.log_ratio), known[-1]
        if best.log_ratio - last.log_ratio > _CLEAR * difference_error(best, last):
            return "slower-rung"
    return None


def survivors(facts: Facts, table: Table, *, excluded: frozenset[str]) -> tuple[Key, ...]:
    """Return one setting per group that pays on its own, the greatest gain first."""
    chosen = [
        found
        for ladder in groups_of(facts.proposals)
        if (found := knee(ladder, facts=facts, table=table, excluded=excluded)) is not None
        and pays(table.estimates[found], None, facts=facts)
    ]
    return tuple(sorted(chosen, key=lambda key: -table.estimates[key].log_ratio))


def knee(ladder: tuple[Proposal, ...], *, facts: Facts, table: Table, excluded: frozenset[str]) -> Key | None:
    """Return the first setting that is as fast as the fastest within noise; None where none could be measured."""
    known = [
        (key, table.estimates[key])
        for proposal in ladder
        if usable(key := (proposal.name,), table=table) and proposal.name not in excluded
    ]
    if not known:
        return None
    best = max((estimate for _, estimate in known), key=lambda one: one.log_ratio)
    for key, estimate in known:
        allowed = min(difference_error(best, estimate), max(_KNEE_COSTS_AT_MOST, math.log1p(facts.options.margin)))
        if estimate is best or best.log_ratio - estimate.log_ratio <= allowed:
            return key
    raise AssertionError("the best is among the known")


def usable(key: Key, *, table: Table) -> bool:
    """Whether the set was measured and needs no more memory than is allowed."""
    return key in table.estimates and key not in table.over_memory


def unusable_singles(table: Table) -> frozenset[str]:
    """Return the proposals that failed or need too much memory on their own; no combination with them is tried."""
    return frozenset(key[0] for key in (*table.failures, *table.over_memory) if len(key) == 1)


def pays(estimate: ScreenEstimate, reference: ScreenEstimate | None, *, facts: Facts) -> bool:
    """Whether the gain over `reference` (the baseline if None) is worth keeping at screening level."""
    gain = estimate.log_ratio - (reference.log_ratio if reference else 0.0)
    return gain > max(math.log1p(facts.options.margin) / 2, _PAYS * difference_error(estimate, reference))


def clearly_pays(estimate: ScreenEstimate, *, facts: Facts) -> bool:
    """Whether the gain over the baseline is beyond the margin and beyond what noise does."""
    return estimate.log_ratio - _CLEAR * estimate.standard_error > math.log1p(facts.options.margin)


def clearly_harms(proposal: Proposal, *, table: Table) -> bool:
    """Whether the proposal was measured alone and is slower beyond what noise does."""
    alone = table.estimates.get((proposal.name,))
    return alone is not None and alone.log_ratio + _CLEAR * alone.standard_error <= 0


def unclear_difference(estimate: ScreenEstimate, reference: ScreenEstimate, *, facts: Facts) -> bool:
    """Whether another run could well turn the answer of `pays`; a change that looks like nothing gets no second one."""
    error = difference_error(estimate, reference)
    gain = estimate.log_ratio - reference.log_ratio
    return gain > error / 2 and gain < max(math.log1p(facts.options.margin) / 2, _PAYS * error) + error


def difference_error(one: ScreenEstimate, other: ScreenEstimate | None) -> float:
    """Return the standard error of the difference of two sets (or of one against the baseline)."""
    return math.hypot(one.standard_error, other.standard_error) if other else one.standard_error


def beyond_ceiling(proposal: Proposal, *, facts: Facts, speedup: float = 1.0) -> bool:
    """Whether Amdahl's ceiling is within the margin once the program already runs `speedup` times as fast.

    What a treatment can remove is a fixed time; the faster the rest, the greater its share.
    """
    if math.isinf(proposal.ceiling):
        return False
    removable = (1.0 - 1.0 / max(1.0, proposal.ceiling)) * speedup
    return removable < 1.0 and 1.0 / (1.0 - removable) <= 1.0 + facts.options.margin


def _promise(ladder: Sequence[Proposal]) -> float:
    return max(_expected(one.ceiling) for one in ladder)


def _promise_alone(ladder: Sequence[Proposal], *, facts: Facts, table: Table) -> float:
    return max(_expected(single_ceiling(one, facts=facts, table=table)[0]) for one in ladder)


def _expected(ceiling: float) -> float:
    return _UNKNOWN_CEILING if math.isinf(ceiling) else ceiling


def _settled(proposal: Proposal, *, facts: Facts, table: Table) -> bool:
    key = (proposal.name,)
    return key in table.estimates or key in table.failures or table.busy.get(key, 0) >= facts.options.busy_repeats


def _unclear(estimate: ScreenEstimate, *, facts: Facts) -> bool:
    edge = math.log1p(facts.options.margin)
    if estimate.log_ratio <= 0 and estimate.log_ratio + _PAYS * estimate.standard_error < edge:
        return False
    low = estimate.log_ratio - _CLEAR * estimate.standard_error
    high = estimate.log_ratio + _CLEAR * estimate.standard_error
    return low < edge / 2 and high > edge
