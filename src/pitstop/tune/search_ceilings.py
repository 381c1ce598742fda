"""Ceilings that were measured: what the program does on one cached batch, and how fast its loader is alone.

Both are throw-away runs of the unchanged program, made once before the first candidate. On a cached batch a step takes all that
is not the input's: no remedy of the input alone can do better, whatever workers took from the model's cores. The loader alone is
as fast as it can ever be: no remedy of the computation alone makes steps shorter than its batches take. Either bounds a change
tried by itself; on top of others the bottleneck has moved, and the bound says nothing.
"""

import math

from pitstop.records import Proposal, TrialOutcome
from pitstop.tune.search_actions import Intervene, Intervention, What
from pitstop.tune.search_facts import Facts, Table

__all__ = ["measured_ceiling", "next_intervention", "ruled_out", "single_ceiling"]

_ACTS_ON: dict[What, str] = {"cached-batch": "input", "loader-alone": "training"}
# An intervention costs at most this share of the budget: about what screening one candidate costs where it pays to know.
_BUDGET_SHARE = 0.04
_DOUBT = 2.0  # standard errors of one run against the mean of the baselines, on the cautious side
# What is not expected to gain the margin is not screened, where it is certain that it cannot gain more than this: one run scatters by
# some percent, and so would the one that screens the proposal. On top of what pays it may still be tried.
_LITTLE = 0.10


def next_intervention(facts: Facts, table: Table) -> Intervene | None:
    """Return the intervention to make now, once each; None where none is wanted, could prune anything, or fits the budget."""
    made = {one.what for one in facts.interventions}
    for what in facts.options.interventions:
        bounded = any(one.acts_on == _ACTS_ON[what] for one in facts.proposals)
        if what not in made and bounded and _affordable(facts, table):
            return Intervene(what=what)
    return None


def measured_ceiling(what: What, *, facts: Facts, table: Table) -> float:
    """Return the most that removing what the intervention removed could gain, as baseline / treated time; inf where it was not measured.

    The upper end of what one run says against the baselines.
    """
    gain = _gain(what, facts=facts, table=table)
    if gain is None:
        return math.inf
    # Taking something away cannot slow the program down: where it seems to, the noise is at least as large on the other side.
    doubt = max(_DOUBT * table.sd * math.sqrt(1.0 + 1.0 / len(table.baselines)), -2.0 * gain)
    return max(1.0, math.exp(gain + doubt))


def single_ceiling(proposal: Proposal, *, facts: Facts, table: Table) -> tuple[float, What | None]:
    """Return the most that the proposal could gain by itself, and the intervention that says so; None where the ledger does."""
    bounds: list[tuple[float, What | None]] = [(proposal.ceiling, None)]
    bounds += [
        (measured_ceiling(what, facts=facts, table=table), what)
        for what, acts_on in _ACTS_ON.items()
        if acts_on == proposal.acts_on
    ]
    return min(bounds, key=lambda bound: bound[0])


def ruled_out(proposal: Proposal, *, facts: Facts, table: Table) -> What | None:
    """Return the intervention after which the proposal is not worth a trial by itself, None where none says so."""
    ceiling, what = single_ceiling(proposal, facts=facts, table=table)
    gain = None if what is None else _gain(what, facts=facts, table=table)
    if gain is None or gain > math.log1p(facts.options.margin) or ceiling > 1.0 + _LITTLE:
        return None
    return what


def _gain(what: What, *, facts: Facts, table: Table) -> float | None:
    """Return the log of baseline / intervention time per step, None where it was not measured."""
    found = _made(what, facts=facts)
    if found is None or not found.step_ns or not table.baselines or not table.step_ns > 0:
        return None
    return math.log(table.step_ns / found.step_ns)


def _made(what: What, *, facts: Facts) -> Intervention | None:
    usable = (one for one in facts.interventions if one.what == what and one.outcome is TrialOutcome.MEASURED)
    return next(usable, None)


def _affordable(facts: Facts, table: Table) -> bool:
    budget_ns = facts.options.budget_ns
    return budget_ns is None or table.wall_ns.get((), math.inf) <= _BUDGET_SHARE * (
        budget_ns + facts.options.reserve_ns
    )
