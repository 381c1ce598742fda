"""How far a search is: for a progress bar, never for a decision."""

from typing import Literal

import msgspec

from pitstop.tune.search import Search
from pitstop.tune.search_actions import CheckNumerics, Finish
from pitstop.tune.search_budget import check_cost_ns, confirm_cost_ns, trial_cost_ns
from pitstop.tune.search_confirming import Confirming, next_run
from pitstop.tune.search_facts import Facts, Table, tabulate
from pitstop.tune.search_gating import excluded_by_gates
from pitstop.tune.search_phases import Combining, Gating, Screening
from pitstop.tune.search_ranking import best_known
from pitstop.tune.search_screening import groups_of, passed_over, survivors
from pitstop.tune.search_walk import View

__all__ = ["Progress", "describe"]


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Observations made and expected in all, the phase, the expected time to the end (None before the first baseline), and what was spent."""

    done: int
    expected: int
    phase: Literal["screening", "combining", "gating", "confirming", "finished"]
    eta_ns: int | None
    spent_ns: int = 0


def describe(search: Search) -> Progress:
    """Return the progress of a search. `expected` may fall (an early end) and rise (a surprise)."""
    facts, phase = search.facts, search.phase
    done = len(facts.trials) + len(facts.reports)
    if isinstance(search.action, Finish):
        return Progress(done=done, expected=done, phase="finished", eta_ns=0, spent_ns=facts.spent_ns)
    table = tabulate(facts)
    trial_ns = _typical_ns(facts, table)
    match phase:
        case Screening():
            name, counts = "screening", (_left_to_screen(facts, table), 3, 1, facts.options.looks[0])
        case Combining():
            name, counts = "combining", (0, 3, 1, facts.options.looks[0])
        case Gating():
            name, counts = "gating", (0, 0, 1, facts.options.looks[0])
        case Confirming():
            name, counts = "confirming", (0, 0, 0, 0)
        case _:
            raise AssertionError(phase)
    trials, combinations, checks, pairs = counts
    best = _best(facts, table)
    to_confirm_ns = confirm_cost_ns((best,), pairs=pairs, facts=facts, table=table) if pairs else 0.0
    remaining = trials + combinations + checks + 2 * pairs
    eta_ns = (trials + combinations) * trial_ns + to_confirm_ns
    eta_ns += checks * check_cost_ns(best, facts=facts, table=table)
    if isinstance(phase, Confirming) and next_run(phase) is not None:
        keys = tuple(one.key for one in phase.finalists if one.open)
        look = next(look for look in phase.looks if look > phase.pairs)
        eta_ns = confirm_cost_ns(keys, pairs=look - phase.pairs, facts=facts, table=table)
        remaining = (look - phase.pairs) * (1 + len(keys)) - len(phase.half)
    if isinstance(search.action, CheckNumerics):
        remaining = max(remaining, 1)
    known = bool(table.baselines)
    limited = min(eta_ns, max(0.0, facts.left_ns))
    return Progress(
        done=done,
        expected=done + max(1, remaining),
        phase=name,  # type: ignore[arg-type]
        eta_ns=round(limited) if known else None,
        spent_ns=facts.spent_ns,
    )


def _left_to_screen(facts: Facts, table: Table) -> int:
    """Singles without a result, one baseline for every two of them, and the first baselines."""
    open_ones = sum(
        1
        for ladder in groups_of(facts.proposals)
        for proposal in ladder
        if not table.runs.get((proposal.name,)) and passed_over(proposal, facts=facts, table=table) is None
    )
    return open_ones + open_ones // 2 + max(0, 2 - len(table.baselines))


def _best(facts: Facts, table: Table) -> tuple[str, ...]:
    excluded, forbidden = excluded_by_gates(facts)
    best = best_known(View(facts=facts, table=table, excluded=excluded, forbidden=forbidden))
    if best:
        return best
    paying = survivors(facts, table, excluded=excluded)
    return paying[0] if paying else tuple(proposal.name for proposal in facts.proposals[:1])


def _typical_ns(facts: Facts, table: Table) -> float:
    singles = [trial_cost_ns((proposal.name,), facts=facts, table=table) for proposal in facts.proposals]
    return sum(singles) / len(singles) if singles else 0.0
