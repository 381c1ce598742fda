"""A simulated machine, to try the search on thousands of tunes: planted effects, recorded or made noise, failures.

It answers the search's actions with the same records as real trials do, so nothing in the search knows of it. Randomness
comes from the generator passed in.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np

from pitstop.records import Gate, Proposal, Trial, TrialOutcome
from pitstop.tune.search import Search, observe, start
from pitstop.tune.search_actions import (
    Action,
    CheckNumerics,
    Finish,
    Intervene,
    Intervention,
    Key,
    Length,
    Measure,
    MeasureLength,
    NumericsReport,
    Observation,
    SearchOptions,
    What,
)

__all__ = ["Answering", "Landscape", "Machine", "Noise", "Tuned", "best_possible", "run_tune"]

Landscape = Callable[[Key], float]  # set of proposals -> log of baseline / treated time, without noise

_STEP_NS = 50_000_000
_STEPS = 80
_SAMPLES_PER_STEP = 32
_START = 0.5  # of a trial's window: before the first step


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """How process means scatter, all as logs of time.

    `sd`: independent per process (lognormal); `drift_sd`: step of a random walk from one process to the next;
    `burst_chance` and `burst`: a process that somebody else slowed down unnoticed; `busy_chance`: one that was noticed.
    `recorded`: log process means of real repeated runs, used in their own order from a random start instead of `sd` and
    `drift_sd`, wrapping round.
    """

    sd: float = 0.039  # traps.md
    drift_sd: float = 0.0
    burst_chance: float = 0.0
    burst: float = 0.3
    busy_chance: float = 0.0
    recorded: tuple[float, ...] = ()


class Machine:
    """Runs simulated trials one after another. `failures`, `unsafe`, `extra_bytes` and `cost` are per proposal or set.

    A set fails if any proposal in it is in `failures`, or if the set itself is; so with `unsafe`. `cost`: wall time of
    the trial beyond the steps, relative to a baseline trial (slow to start: 1.0 doubles it); `compiling`: the same, of a set's first
    trial only, since the next finds the compiler's cache filled; `check_cost`: of a numerics check likewise. `steps`: the program's length.
    `without`: how much faster the unchanged program is under an intervention.
    """

    def __init__(
        self,
        landscape: Landscape,
        *,
        rng: np.random.Generator,
        noise: Noise | None = None,
        failures: Mapping[str | Key, TrialOutcome] | None = None,
        unsafe: Sequence[str | Key] = (),
        extra_bytes: Mapping[str, int] | None = None,
        cost: Mapping[str, float] | None = None,
        compiling: Mapping[str, float] | None = None,
        check_cost: float = 4.0,
        peak_bytes: int = 4 << 30,
        steps: int = 1_000_000,
        without: Mapping[What, float] | None = None,
    ) -> None:
        self._landscape = landscape
        self._rng = rng
        self._noise = noise or Noise()
        self._failures = dict(failures or {})
        self._unsafe = set(unsafe)
        self._extra_bytes = dict(extra_bytes or {})
        self._cost = dict(cost or {})
        self._compiling = dict(compiling or {})
        self._compiled: set[Key] = set()
        self._check_cost = check_cost
        self._peak_bytes = peak_bytes
        self._steps = steps
        self._without = dict(without or {})
        self._level = 0.0
        self._runs = int(rng.integers(len(self._noise.recorded))) if self._noise.recorded else 0

    def answer(self, action: Measure | CheckNumerics | MeasureLength | Intervene) -> Observation:
        """Return what the machine makes of one action."""
        if isinstance(action, Intervene):
            step_ns = _STEP_NS * math.exp(self._scatter()) / self._without.get(action.what, 1.0)
            wall_ns = round((_START * _STEP_NS + step_ns) * _STEPS)
            return Intervention(what=action.what, outcome=TrialOutcome.MEASURED, step_ns=step_ns, wall_ns=wall_ns)
        if isinstance(action, MeasureLength):
            steps = min(self._steps, action.steps)
            wall_ns = round((_START * _STEPS + steps) * _STEP_NS)
            return Length(steps=steps, ended=steps == self._steps, wall_ns=wall_ns)
        return self._trial(action.proposals) if isinstance(action, Measure) else self._check(action.proposals)

    def _trial(self, key: Key) -> Trial:
        noise = self._scatter()
        window_ns = round(_STEP_NS * _STEPS * math.exp(noise - self._landscape(key)))
        compiling = 0.0 if key in self._compiled else sum(self._compiling.get(name, 0.0) for name in key)
        self._compiled.add(key)
        overhead = _START + compiling + sum(self._cost.get(name, 0.0) for name in key)
        wall_ns = window_ns + round(overhead * _STEP_NS * _STEPS)
        outcome = self._failures.get(key) or next(
            (self._failures[name] for name in key if name in self._failures), TrialOutcome.MEASURED
        )
        if outcome is TrialOutcome.MEASURED and self._rng.random() < self._noise.busy_chance:
            outcome = TrialOutcome.BUSY
        measured = outcome is TrialOutcome.MEASURED
        return Trial(
            proposals=key,
            outcome=outcome,
            window_ns=window_ns if measured else None,
            window_steps=_STEPS if measured else 0,
            window_samples=_STEPS * _SAMPLES_PER_STEP if measured else 0,
            peak_bytes=self._peak_bytes + sum(self._extra_bytes.get(name, 0) for name in key),
            wall_ns=wall_ns,
            first_ns=round((_START + compiling) * _STEP_NS * _STEPS),
        )

    def _check(self, key: Key) -> NumericsReport:
        passed = key not in self._unsafe and not any(name in self._unsafe for name in key)
        gate = Gate(name="trajectory", passed=passed, measured=0.0 if passed else 1.0, limit=0.1)
        cost = self._check_cost + sum(self._compiling.get(name, 0.0) for name in key)
        return NumericsReport(proposals=key, gates=(gate,), wall_ns=round(cost * _STEP_NS * _STEPS))

    def _scatter(self) -> float:
        noise = self._noise
        if noise.recorded:
            self._runs += 1
            value = noise.recorded[self._runs % len(noise.recorded)]
        else:
            self._level += noise.drift_sd * float(self._rng.standard_normal()) if noise.drift_sd else 0.0
            value = self._level + noise.sd * float(self._rng.standard_normal())
        if noise.burst_chance and self._rng.random() < noise.burst_chance:
            value += noise.burst
        return value


class Answering(Protocol):
    """Whatever answers a search's actions: `Machine`, or a recording."""

    def answer(self, action: Measure | CheckNumerics | MeasureLength | Intervene) -> Observation:
        """Return what one action comes to."""
        ...


class Tuned(msgspec.Struct, frozen=True, kw_only=True):
    """One simulated tune: how it ended and everything that was observed on the way."""

    finish: Finish
    search: Search
    observations: tuple[Observation, ...]
    actions: tuple[Action, ...]


def run_tune(proposals: Sequence[Proposal], machine: Answering, *, options: SearchOptions | None = None) -> Tuned:
    """Run a whole tune on the machine."""
    search = start(proposals, options=options)
    observations: list[Observation] = []
    actions: list[Action] = []
    while not isinstance(search.action, Finish):
        actions.append(search.action)
        observations.append(machine.answer(search.action))
        search = observe(search, observations[-1])
    return Tuned(
        finish=search.action, search=search, observations=tuple(observations), actions=(*actions, search.action)
    )


def best_possible(proposals: Sequence[Proposal], landscape: Landscape) -> tuple[Key, float]:
    """Return the best set and its log gain by trying all: at most one setting per group."""
    groups: dict[str, list[str]] = {}
    for proposal in proposals:
        groups.setdefault(proposal.group, []).append(proposal.name)
    order = {proposal.name: index for index, proposal in enumerate(proposals)}
    sets: list[tuple[str, ...]] = [()]
    for names in groups.values():
        sets += [(*chosen, name) for chosen in sets for name in names]
    best = max((tuple(sorted(chosen, key=order.__getitem__)) for chosen in sets), key=landscape)
    return best, landscape(best)
