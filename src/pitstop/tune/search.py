"""The search: which trial next, and when to stop. A pure state machine.

    start(proposals) -> Search
    observe(search, trial, numerics report, length or intervention) -> Search
    next_action(search) -> Measure | CheckNumerics | MeasureLength | Intervene | Finish

States and their transitions; all but Confirming are decided anew from the facts after each observation, and replaying the
observations of a journal rebuilds the state exactly:

    Screening   baselines first, then interventions, then candidates between baselines       -> Combining when no single one is worth a trial
    Combining   sets of survivors; then the program's length, where the
                choice hangs on it                                       -> Gating with finalists, or Finished (nothing pays)
    Gating      numerics checks of the finalists                         -> Confirming, or Combining without what failed
    Confirming  pairs in fresh processes, with looks                     -> Finished, or Combining if all crash at once
    Finished    the action is Finish
"""

from collections.abc import Iterable

import msgspec

from pitstop.records import Proposal, Trial
from pitstop.tune import search_confirming as confirming
from pitstop.tune.search_actions import (
    Action,
    CheckNumerics,
    Finish,
    Intervene,
    Measure,
    MeasureLength,
    Observation,
    SearchOptions,
)
from pitstop.tune.search_confirming import Confirming
from pitstop.tune.search_facts import Facts, add, tabulate
from pitstop.tune.search_phases import Finished, Phase, Screening, plan

__all__ = ["Search", "next_action", "observe", "replay", "start"]


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """State of one tune: what is known, the phase, and the action that is wanted now."""

    facts: Facts
    phase: Phase
    action: Action


def start(proposals: Iterable[Proposal], *, options: SearchOptions | None = None) -> Search:
    """Return the state before the first trial. Raises ValueError for two proposals of one name."""
    known = tuple(proposals)
    names = [proposal.name for proposal in known]
    if len(set(names)) != len(names):
        raise ValueError(f"proposal names are not unique: {sorted(names)}")
    return _settle(Facts(proposals=known, options=options or SearchOptions()), Screening())


def observe(search: Search, observation: Observation) -> Search:
    """Return the state after one more observation. After the end nothing changes any more."""
    if isinstance(search.phase, Finished):
        return search
    facts = add(search.facts, observation)
    phase = search.phase
    if isinstance(phase, Confirming) and isinstance(observation, Trial):
        phase = confirming.absorb(phase, facts.trials[-1], options=facts.options)
    return _settle(facts, phase)


def next_action(search: Search) -> Action:
    """Return what to do now."""
    return search.action


def replay(
    proposals: Iterable[Proposal], observations: Iterable[Observation], *, options: SearchOptions | None = None
) -> Search:
    """Return the state after these observations, as a resumed tune needs it."""
    search = start(proposals, options=options)
    for observation in observations:
        search = observe(search, observation)
    return search


def _settle(facts: Facts, phase: Phase) -> Search:
    """Follow transitions until a phase wants something done."""
    table = tabulate(facts)
    while True:
        following = plan(facts, table, phase)
        if isinstance(following, Measure | CheckNumerics | MeasureLength | Intervene | Finish):
            return Search(facts=facts, phase=phase, action=following)
        phase = following
