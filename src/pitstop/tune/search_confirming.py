"""Confirmation: finalists against the baseline in fresh processes, A B B A, with looks; the only place where claims arise.

The transitions: a half-block (A B, then B A, one baseline for all finalists still open) fills run by run; when it is full it
becomes one pair per finalist; at a look, decided finalists leave. A busy run is repeated in its place; a finalist whose
run fails leaves at once; the phase is over when `next_run` is None.
"""

import math

import msgspec

from pitstop.records import Trial, TrialOutcome, VerdictKind
from pitstop.stats.decide import Decision, decide_all
from pitstop.stats.power import power_faster
from pitstop.stats.sequential import Plan
from pitstop.tune.search_actions import Key, SearchOptions
from pitstop.tune.search_facts import is_measured, log_cost_ratio

__all__ = ["FEWEST_PAIRS", "Confirming", "Finalist", "absorb", "conclude", "next_run", "winner"]

FEWEST_PAIRS = 3  # two degrees of freedom: enough for large effects, and the least that gives an interval of use
_HOPELESS = 0.05  # chance of "faster" at the last look, if the estimate were one standard error better than it is


class Finalist(msgspec.Struct, frozen=True, kw_only=True):
    """One set under confirmation: its log ratios, its decision at the last look, and whether it still runs."""

    key: Key
    ratios: tuple[float, ...] = ()
    decision: Decision | None = None
    open: bool = True
    failure: Trial | None = None


class Confirming(msgspec.Struct, frozen=True, kw_only=True, tag="confirming"):
    """The phase's state. `half` are the valid runs of the half-block under way; `troubled` counts useless ones in a row."""

    finalists: tuple[Finalist, ...]
    looks: tuple[int, ...]
    half: tuple[Trial, ...] = ()
    pairs: int = 0
    troubled: int = 0
    given_up: bool = False


def next_run(phase: Confirming) -> Key | None:
    """Return the set to run next, () for a baseline, None when all is decided or cannot be."""
    sides = _sides(phase)
    if phase.given_up or len(sides) < 2:
        return None
    return sides[len(phase.half)]


def absorb(phase: Confirming, trial: Trial, *, options: SearchOptions) -> Confirming:
    """Return the phase after one more trial; a trial of another set than the wanted one changes nothing."""
    wanted = next_run(phase)
    if wanted is None or trial.proposals != wanted:
        return phase
    if not is_measured(trial):
        if wanted and trial.outcome is not TrialOutcome.BUSY:
            return _fail(phase, wanted, trial)
        troubled = phase.troubled + 1
        return msgspec.structs.replace(phase, troubled=troubled, given_up=troubled > options.busy_repeats)
    half = (*phase.half, trial)
    phase = msgspec.structs.replace(phase, half=half, troubled=0)
    return _pair_up(phase, options=options) if len(half) == len(_sides(phase)) else phase


def winner(phase: Confirming) -> Finalist | None:
    """Return the fastest of those found faster."""
    won = [one for one in phase.finalists if one.decision and one.decision.kind is VerdictKind.FASTER]
    return max(won, key=lambda one: one.decision.speedup if one.decision else 0.0, default=None)


def conclude(phase: Confirming, *, options: SearchOptions) -> Confirming:
    """Return the phase ended now (the budget is spent, the machine stays busy), with a last look at the pairs there are.

    Spending functions allow a look at any time that the ratios did not choose (Lan and DeMets, 1983). With fewer
    than three pairs there is nothing to look at.
    """
    if phase.pairs >= FEWEST_PAIRS and phase.pairs not in phase.looks and any(one.open for one in phase.finalists):
        looks = tuple(sorted({*phase.looks, phase.pairs}))
        phase = _look(msgspec.structs.replace(phase, looks=looks), options=options)
    closed = tuple(msgspec.structs.replace(one, open=False) for one in phase.finalists)
    return msgspec.structs.replace(phase, finalists=closed, half=())


def _sides(phase: Confirming) -> tuple[Key, ...]:
    forward = ((), *(one.key for one in phase.finalists if one.open))
    return forward if phase.pairs % 2 == 0 else forward[::-1]


def _fail(phase: Confirming, key: Key, trial: Trial) -> Confirming:
    finalists = tuple(
        msgspec.structs.replace(one, open=False, failure=trial, decision=None) if one.key == key else one
        for one in phase.finalists
    )
    half = tuple(run for run in phase.half if run.proposals != key)
    return msgspec.structs.replace(phase, finalists=finalists, half=half, troubled=0)


def _pair_up(phase: Confirming, *, options: SearchOptions) -> Confirming:
    runs = {run.proposals: run for run in phase.half}
    finalists = tuple(
        msgspec.structs.replace(one, ratios=(*one.ratios, log_cost_ratio(runs[()], runs[one.key]))) if one.open else one
        for one in phase.finalists
    )
    phase = msgspec.structs.replace(phase, finalists=finalists, half=(), pairs=phase.pairs + 1)
    return _look(phase, options=options) if phase.pairs in phase.looks else phase


def _look(phase: Confirming, *, options: SearchOptions) -> Confirming:
    plan = Plan(looks=phase.looks, alpha=options.alpha)
    look = phase.looks.index(phase.pairs)
    decisions = decide_all(
        {"+".join(one.key): one.ratios for one in phase.finalists if one.open},
        plan=plan,
        look=look,
        margin=options.margin,
        power=options.power,
        among=len(phase.finalists),
        claimed=sum(1 for one in phase.finalists if one.decision and one.decision.kind is VerdictKind.FASTER),
    )
    last = look == len(phase.looks) - 1
    finalists = []
    for one in phase.finalists:
        if one.open:
            found = decisions["+".join(one.key)]
            going_on = found.kind is VerdictKind.UNDECIDED and not last and not _hopeless(found, phase, options=options)
            finalists.append(msgspec.structs.replace(one, decision=found, open=going_on))
        else:
            finalists.append(one)
    phase = msgspec.structs.replace(phase, finalists=tuple(finalists))
    best = winner(phase)
    if best is not None and best.decision is not None:  # the others go on only if they still look faster than it
        speedup = best.decision.speedup
        kept = tuple(
            msgspec.structs.replace(one, open=one.open and one.decision is not None and one.decision.speedup > speedup)
            for one in phase.finalists
        )
        phase = msgspec.structs.replace(phase, finalists=kept)
    return phase


def _hopeless(found: Decision, phase: Confirming, *, options: SearchOptions) -> bool:
    hopeful = math.log(found.speedup) + found.sd / math.sqrt(found.pairs)
    chance = power_faster(hopeful, sd=found.sd, pairs=phase.looks[-1], margin=options.margin, alpha=options.alpha)
    return chance < _HOPELESS
