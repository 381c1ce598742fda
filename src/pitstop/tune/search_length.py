"""Whether the program runs long enough for what a set costs at its start (a compiler, above all).

The whole program is what its user waits for. With as many steps as the program makes, a set takes its start, with empty caches,
and then its steps; of two sets the one that starts later and steps faster is ahead from a crossing on. Where the program is known
to end before it, the set is no candidate; where it is not known, `steps_to_know` says how many steps decide it.
"""

import math

from pitstop.stats.screening import ScreenEstimate
from pitstop.tune.break_even import starts_later
from pitstop.tune.search_actions import Key
from pitstop.tune.search_budget import check_cost_ns, confirm_cost_ns
from pitstop.tune.search_facts import Facts, Table
from pitstop.tune.search_screening import pays, usable

__all__ = ["crossing", "outrun", "steps_to_know", "too_late"]

# At most this share of the whole budget is spent on knowing the length, at most so often, and only to learn so much more.
_BUDGET_SHARE = 0.15
_MOST_LOOKS = 2
_WORTH_KNOWING = 1.5


def crossing(key: Key, other: Key, *, facts: Facts, table: Table) -> float:
    """Return the step from which `key`, which starts later than `other`, is ahead of it: 0 where it does not start later.

    Infinite where its steps do not clearly pay for a later start.
    """
    later = _later_ns(key, other, table=table)
    if not later:
        return 0.0
    mine, theirs = table.estimates[key], table.estimates.get(other)
    if not pays(mine, theirs, facts=facts):
        return math.inf
    saved = _step_ns(theirs, table=table) - _step_ns(mine, table=table)
    return facts.options.warm_steps + math.ceil(later / saved)


def outrun(facts: Facts, table: Table, *, unsafe: frozenset[str], forbidden: frozenset[Key]) -> dict[Key, float]:
    """Return the measured sets that another, or the unchanged program, still leads when the program ends, each with its crossing.

    Nothing where the program's length is not known. `unsafe` and `forbidden` are no alternatives: what failed a gate.
    """
    length = facts.length
    if not length.ended:
        return {}
    others = _alternatives(table, unsafe=unsafe, forbidden=forbidden)
    crossings = {
        key: max((crossing(key, other, facts=facts, table=table) for other in others if other != key), default=0.0)
        for key in table.estimates
        if key in table.start_ns
    }
    return {key: steps for key, steps in crossings.items() if steps > length.steps}


def too_late(facts: Facts, table: Table, *, outrun: dict[Key, float]) -> frozenset[str]:
    """Return the proposals that start late and with which no set measured so far, or no set at all, is ahead before the end.

    `outrun` is what the function of this name says.
    """
    length = facts.length
    if not length.ended:
        return frozenset()
    whole_ns = table.step_ns * max(0, length.steps - facts.options.warm_steps)  # more cannot be saved
    found = set()
    for proposal in facts.proposals:
        name = proposal.name
        later = _later_ns((name,), (), table=table)
        late_sets = [key for key in table.estimates if name in key and not math.isinf(outrun.get(key, 0.0))]
        behind = bool(late_sets) and all(key in outrun for key in late_sets)
        if later > whole_ns or (behind and (later or proposal.compiles)):
            found.add(name)
    return frozenset(found)


def steps_to_know(
    key: Key, *, facts: Facts, table: Table, unsafe: frozenset[str], forbidden: frozenset[Key]
) -> int | None:
    """Return how many steps the program must be seen to make before `key` is the right choice; None where that is known or too dear."""
    length = facts.length
    if length.ended or len(facts.lengths) >= _MOST_LOOKS or key not in table.start_ns or not table.step_ns > 0:
        return None
    crossings = (
        crossing(key, other, facts=facts, table=table)
        for other in _alternatives(table, unsafe=unsafe, forbidden=forbidden)
        if other != key
    )
    wanted = max((steps for steps in crossings if not math.isinf(steps)), default=0.0)
    if wanted <= length.steps:
        return None
    budget_ns = facts.options.budget_ns
    if budget_ns is None:
        return int(wanted)
    proof_ns = check_cost_ns(key, facts=facts, table=table)
    proof_ns += confirm_cost_ns((key,), pairs=facts.options.looks[0], facts=facts, table=table)
    most_ns = min(_BUDGET_SHARE * (budget_ns + facts.options.reserve_ns), facts.left_to_prove_ns - proof_ns)
    affordable = facts.options.warm_steps + (most_ns - table.start_ns.get((), 0.0)) / table.step_ns
    steps = int(min(wanted, affordable))
    return steps if steps > _WORTH_KNOWING * length.steps else None


def _alternatives(table: Table, *, unsafe: frozenset[str], forbidden: frozenset[Key]) -> tuple[Key, ...]:
    measured = (key for key in table.estimates if usable(key, table=table) and key in table.start_ns)
    return ((), *(key for key in measured if key not in forbidden and not unsafe & set(key)))


def _later_ns(key: Key, other: Key, *, table: Table) -> float:
    """By how much `key` starts later than `other`; 0 where starts scatter as much, or one is not known."""
    starts = table.start_ns
    if key not in starts or other not in starts or () not in starts:
        return 0.0
    later = starts[key] - starts[other]
    return later if starts_later(later, usual_ns=starts[()]) else 0.0


def _step_ns(estimate: ScreenEstimate | None, *, table: Table) -> float:
    return table.step_ns * math.exp(-estimate.log_ratio if estimate else 0.0)
