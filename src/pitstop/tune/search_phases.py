"""The phases of a search, and what each wants done next: an action, or the phase that follows.

All but `Confirming` hold no knowledge of their own: they are decided anew from the facts after each observation.
"""

import math

import msgspec

from pitstop.records import TrialOutcome
from pitstop.stats.screening import ScreenEstimate
from pitstop.tune import search_confirming as confirming
from pitstop.tune.search_actions import Action, CheckNumerics, Key, Measure, MeasureLength, NumericsReport
from pitstop.tune.search_budget import (
    affordable_looks,
    can_screen,
    check_cost_ns,
    confirm_cost_ns,
    too_tight_to_screen,
    trial_cost_ns,
)
from pitstop.tune.search_ceilings import next_intervention
from pitstop.tune.search_combining import climb
from pitstop.tune.search_confirming import Confirming, Finalist
from pitstop.tune.search_facts import Facts, Table, canonical, is_measured
from pitstop.tune.search_finish import finish
from pitstop.tune.search_gating import clear, excluded_by_gates, report_on
from pitstop.tune.search_length import outrun, steps_to_know, too_late
from pitstop.tune.search_ranking import best_known, choose_finalists, ranked
from pitstop.tune.search_screening import clearly_pays, everything, groups_of, next_single, survivors, untried
from pitstop.tune.search_walk import Unknown, View, Wanted, walk

__all__ = ["Combining", "Finished", "Gating", "Phase", "Screening", "plan"]

_FIRST_BASELINES = 2
_BETWEEN_BASELINES = 2  # candidates from one baseline to the next
_COMBINATIONS = 8  # sets that a search with several clear gains should have time for
_PATIENCE = 0.5  # of the budget, spent while the machine is too busy for a baseline
_BASELINE_FAILURES = 2  # once more after the first: a port still in use, a download cut off


class Screening(msgspec.Struct, frozen=True, kw_only=True, tag="screening"):
    """Baselines and single proposals are measured."""


class Combining(msgspec.Struct, frozen=True, kw_only=True, tag="combining"):
    """Sets of proposals are measured."""


class Gating(msgspec.Struct, frozen=True, kw_only=True, tag="gating"):
    """The finalists' numerics are checked, the best first."""

    finalists: tuple[Key, ...]


class Finished(msgspec.Struct, frozen=True, kw_only=True, tag="finished"):
    """Why it ended, as a key of the message catalogue; `confirmed` is what the confirmation found, if there was one."""

    why: str
    confirmed: Confirming | None = None


Phase = Screening | Combining | Gating | Confirming | Finished


def plan(facts: Facts, table: Table, phase: Phase) -> Action | Phase:
    """Return the action that the phase wants, or the phase that follows it."""
    match phase:
        case Screening():
            return _plan_screening(facts, table)
        case Combining():
            return _plan_combining(facts, table)
        case Gating():
            return _plan_gating(facts, table, phase)
        case Confirming():
            return _plan_confirming(facts, table, phase)
        case Finished():
            return finish(facts, table, why=phase.why, confirmed=phase.confirmed)


def _plan_screening(facts: Facts, table: Table) -> Action | Phase:
    if stop := _baseline_trouble(facts, table):
        return stop
    if len(table.baselines) < _FIRST_BASELINES:
        if not facts.proposals:
            return Finished(why="search.no_proposals")
        return _measure((), table=table)
    if intervention := next_intervention(facts, table):
        return intervention
    wanted = next_single(facts, table)
    if not table.estimates and not table.failures:  # decided once, before the first candidate
        ladders = len(groups_of(facts.proposals))
        if ladders > 1 and too_tight_to_screen(candidates=ladders, facts=facts, table=table):
            wanted = everything(facts) or None
    if len(facts.trials) >= facts.options.most_trials:
        wanted = None
    best = _best(facts, table)
    if wanted is not None and _crowds_out_combination(wanted, facts=facts, table=table):
        wanted = None
    if wanted is not None and can_screen(wanted, best=best, facts=facts, table=table):
        return _measure(wanted, table=table)
    return _measure((), table=table) if _lacks_closing_baseline(facts, table, best) else Combining()


def _crowds_out_combination(wanted: Key, *, facts: Facts, table: Table) -> bool:
    """Whether a trial of `wanted` would take from the time in which what already clearly pays could be tried together, and widened.

    Together they gain more than what is left to screen is likely to, and what is left is tried on top of them; the reserve of
    `can_screen` is for the best single only.
    """
    excluded = _view(facts, table).excluded
    sure = [
        key for key in survivors(facts, table, excluded=excluded) if clearly_pays(table.estimates[key], facts=facts)
    ]
    together = canonical((name for key in sure for name in key), proposals=facts.proposals)
    if len(sure) < 2 or together in table.runs:
        return False
    baseline = table.wall_ns.get((), 0.0)
    left = msgspec.structs.replace(
        facts, spent_ns=facts.spent_ns + round(trial_cost_ns(wanted, facts=facts, table=table) + baseline)
    )

    def affordable(facts: Facts, trials: int) -> bool:
        return can_screen(together, best=together, facts=facts, table=table, trials=trials)

    return affordable(facts, 1) and not affordable(left, _COMBINATIONS)


def _plan_combining(facts: Facts, table: Table) -> Action | Phase:
    if stop := _baseline_trouble(facts, table):
        return stop
    view = _view(facts, table)

    def known(wanted: Wanted) -> ScreenEstimate | Unknown | None:
        key = wanted.key
        if key in table.failures or key in table.over_memory:
            return None
        found = table.estimates.get(key)
        enough = found is not None and found.runs >= wanted.runs
        return found if enough or table.busy.get(key, 0) >= facts.options.busy_repeats else Unknown(key)

    found = walk(climb(view), known)
    if isinstance(found, Unknown):
        best = _best(facts, table)
        if len(facts.trials) < facts.options.most_trials and can_screen(found.key, best=best, facts=facts, table=table):
            return _measure(found.key, table=table)
        found = best
    if _lacks_closing_baseline(facts, table, found):
        return _measure((), table=table)
    if not found:
        return _screen_on(facts, table, view) or Finished(why=_why_nothing(facts, table))
    unsafe, forbidden = excluded_by_gates(facts)
    if steps := steps_to_know(found, facts=facts, table=table, unsafe=unsafe, forbidden=forbidden):
        return MeasureLength(steps=steps)
    return Gating(finalists=choose_finalists(found, view=view))


def _screen_on(facts: Facts, table: Table, view: View) -> Action | None:
    """Return the next trial of a single where what had paid turned out not to be usable: others had given way to it."""
    wanted = next_single(facts, table, excluded=view.excluded, forbidden=view.forbidden)
    if wanted is None or len(facts.trials) >= facts.options.most_trials:
        return None
    return _measure(wanted, table=table) if can_screen(wanted, best=(), facts=facts, table=table) else None


def _why_nothing(facts: Facts, table: Table) -> str:
    if facts.left_ns < math.inf and untried(facts, table):
        return "search.budget_in_screening"
    unsafe, forbidden = excluded_by_gates(facts)
    if unsafe or forbidden:
        changed = any(report.outcome == "failed" for report in facts.reports)
        return "search.unsafe_only" if changed else "search.unchecked_only"
    # A set that is no faster at any length is not the length's fault.
    late = outrun(facts, table, unsafe=unsafe, forbidden=forbidden)
    return "search.too_short" if any(map(math.isfinite, late.values())) else "search.nothing_pays"


def _plan_gating(facts: Facts, table: Table, phase: Gating) -> Action | Phase:
    def known(key: Key) -> NumericsReport | Unknown:
        return report_on(key, facts=facts) or Unknown(key)

    cleared: list[Key] = []
    for finalist in phase.finalists:
        passed = walk(clear(finalist, facts=facts), known)
        if isinstance(passed, Unknown):
            if _can_prove(finalist, checked=passed.key, facts=facts, table=table):
                return CheckNumerics(proposals=passed.key)
            if cleared:
                break
            lesser = (one for one in ranked(_view(facts, table)) if one not in phase.finalists)
            cheaper = next((one for one in lesser if _can_prove(one, checked=one, facts=facts, table=table)), None)
            return Gating(finalists=(cheaper,)) if cheaper else Finished(why="search.budget_before_check")
        if passed:
            cleared.append(finalist)
        elif finalist == phase.finalists[0]:
            return Combining()
    keys = tuple(cleared)
    while keys:
        looks = affordable_looks(keys, facts=facts, table=table)
        if looks:
            return Confirming(finalists=tuple(Finalist(key=key) for key in keys), looks=looks)
        keys = keys[:-1]
    return Finished(why="search.budget_before_confirmation")


def _can_prove(key: Key, *, checked: Key, facts: Facts, table: Table) -> bool:
    """Whether the budget has a numerics check of `checked` and the least confirmation of `key`."""
    needed = check_cost_ns(checked, facts=facts, table=table)
    return (
        needed + confirm_cost_ns((key,), pairs=confirming.FEWEST_PAIRS, facts=facts, table=table)
        <= facts.left_to_prove_ns
    )


def _plan_confirming(facts: Facts, table: Table, phase: Confirming) -> Action | Phase:
    wanted = confirming.next_run(phase)
    if wanted is None and all(one.failure and not one.decision for one in phase.finalists):
        return Combining()  # all of them crashed before a look: no level was spent, and the table knows of the failures
    if wanted is None:
        ended = confirming.conclude(phase, options=facts.options)
        return Finished(why="search.busy" if phase.given_up else "search.done", confirmed=ended)
    if trial_cost_ns(wanted, facts=facts, table=table) > facts.left_to_prove_ns:
        ended = confirming.conclude(phase, options=facts.options)
        return Finished(why="search.budget_in_confirmation", confirmed=ended)
    return Measure(proposals=wanted, purpose="confirm", repeat=table.runs.get(wanted, 0))


def _baseline_trouble(facts: Facts, table: Table) -> Finished | None:
    """Return the end where the unchanged program fails by itself or the machine is never quiet."""
    failed = [
        one
        for one in facts.trials
        if not one.proposals and one.outcome is not TrialOutcome.BUSY and not is_measured(one)
    ]
    if len(failed) >= _BASELINE_FAILURES:
        return Finished(why="search.baseline_failed")
    if table.busy.get((), 0) > facts.options.busy_repeats and _has_waited(facts):
        return Finished(why="search.busy")
    return None


def _has_waited(facts: Facts) -> bool:
    """Whether so much of the budget is spent that the machine is not waited for any longer."""
    budget_ns = facts.options.budget_ns
    return budget_ns is None or facts.spent_ns > _PATIENCE * budget_ns


def _view(facts: Facts, table: Table) -> View:
    """Return what the walks may look at, without what failed a gate and what the program is too short for."""
    unsafe, forbidden = excluded_by_gates(facts)
    late = outrun(facts, table, unsafe=unsafe, forbidden=forbidden)
    excluded = unsafe | too_late(facts, table, outrun=late)
    return View(facts=facts, table=table, excluded=excluded, forbidden=forbidden | set(late))


def _best(facts: Facts, table: Table) -> Key:
    return best_known(_view(facts, table))


def _lacks_closing_baseline(facts: Facts, table: Table, best: Key) -> bool:
    """Whether the last candidates have no baseline after them yet, and it is affordable."""
    return table.since_baseline > 0 and can_screen((), best=best, facts=facts, table=table)


def _measure(key: Key, *, table: Table) -> Measure:
    """Return the trial, or the baseline that is due before it."""
    if key and table.since_baseline >= _BETWEEN_BASELINES:
        key = ()
    return Measure(proposals=key, purpose="screen", repeat=table.runs.get(key, 0))
