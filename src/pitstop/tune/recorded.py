"""Recorded landscapes: every set of proposals of a real program measured, so that search policies can be replayed on them.

`bench/record_landscape.py` makes one with real trials; a search is then run against it in milliseconds and compared with what trying
everything would have found. A replayed trial is a recorded run of that set: one of its own, where there are several.
"""

import itertools
import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from pitstop.records import Gate, Proposal, Trial, TrialOutcome
from pitstop.tune.search_actions import (
    CheckNumerics,
    Intervene,
    Intervention,
    Key,
    Length,
    Measure,
    MeasureLength,
    NumericsReport,
    Observation,
)

__all__ = ["Recorded", "Replay", "all_sets", "decode", "encode"]


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """One program's landscape: what was proposed, and the trials of every set, the baseline's among them, in the order measured."""

    program: str
    machine: str
    proposals: tuple[Proposal, ...]
    trials: tuple[Trial, ...]
    interventions: tuple[Intervention, ...] = ()
    check_ns: int = 0  # what a numerics check is taken to cost
    unsafe: tuple[str, ...] = ()  # proposals whose check failed

    def log_gain(self, key: Key) -> float | None:
        """Return log(baseline / treated) by the means of all recorded runs; None where the set could not be measured."""
        treated, baseline = self._mean_log_ns(key), self._mean_log_ns(())
        return None if treated is None or baseline is None else baseline - treated

    def best(self) -> tuple[Key, float]:
        """Return the fastest safe set and its log gain; the baseline where nothing is faster."""
        known = {
            key: gain
            for key in {trial.proposals for trial in self.trials}
            if not set(key) & set(self.unsafe) and (gain := self.log_gain(key)) is not None
        }
        return max(known.items(), key=lambda item: item[1])

    def runs(self, key: Key) -> tuple[Trial, ...]:
        """Return the recorded runs of a set."""
        return tuple(trial for trial in self.trials if trial.proposals == key)

    def _mean_log_ns(self, key: Key) -> float | None:
        seen = [math.log(trial.ns_per_step) for trial in self.runs(key) if trial.ns_per_step]
        return sum(seen) / len(seen) if seen else None


class Replay:
    """Answers a search's actions from `recorded`, as `simulate.Machine` does from made-up numbers.

    A set's runs are drawn at random; where it has a single one, the scatter of the baseline's runs is put on it from the second on.
    """

    def __init__(self, recorded: Recorded, *, rng: np.random.Generator) -> None:
        self._recorded = recorded
        self._rng = rng
        self._asked: dict[Key, int] = {}
        self._compiled: set[Key] = set()
        baseline = [math.log(trial.ns_per_step) for trial in recorded.runs(()) if trial.ns_per_step]
        middle = sum(baseline) / len(baseline)
        self._scatter = [value - middle for value in baseline]

    def answer(self, action: Measure | CheckNumerics | MeasureLength | Intervene) -> Observation:
        """Return what the recording says. A program's length is beyond any that is asked for."""
        match action:
            case MeasureLength():
                return Length(steps=action.steps)
            case Intervene():
                known = (one for one in self._recorded.interventions if one.what == action.what)
                return next(known, Intervention(what=action.what, outcome=TrialOutcome.CRASHED))
            case CheckNumerics():
                passed = not set(action.proposals) & set(self._recorded.unsafe)
                gate = Gate(name="recorded", passed=passed)
                return NumericsReport(proposals=action.proposals, gates=(gate,), wall_ns=self._recorded.check_ns)
            case Measure():
                return self._trial(action.proposals)

    def _trial(self, key: Key) -> Trial:
        runs = self._recorded.runs(key)
        if not runs:
            return Trial(proposals=key, outcome=TrialOutcome.CRASHED, detail="not recorded", wall_ns=1)
        asked = self._asked.get(key, 0)
        self._asked[key] = asked + 1
        if asked == 0:
            return runs[0]  # compiling into an empty cache
        trial = runs[int(self._rng.integers(len(runs)))]
        if trial.window_ns is None:
            return trial
        noise = self._scatter[int(self._rng.integers(len(self._scatter)))] if len(runs) == 1 else 0.0
        start_ns = min(run.first_ns or 0 for run in runs)
        window_ns = round(trial.window_ns * math.exp(noise))
        wall_ns = trial.wall_ns - (trial.first_ns or 0) + start_ns
        return msgspec.structs.replace(trial, window_ns=window_ns, first_ns=start_ns, wall_ns=wall_ns)


def encode(recorded: Recorded) -> bytes:
    """Return JSON; a ceiling that is not known is the text "inf", for which JSON has no number."""
    plain = msgspec.to_builtins(recorded)
    for proposal in plain["proposals"]:
        if math.isinf(proposal["ceiling"]):
            proposal["ceiling"] = "inf"
    return msgspec.json.encode(plain)


def decode(text: bytes) -> Recorded:
    """Return what `encode` wrote. Raises msgspec.ValidationError for anything else."""
    return msgspec.convert(msgspec.json.decode(text), Recorded, strict=False)


def all_sets(proposals: Sequence[Proposal]) -> Iterator[Key]:
    """Yield every set with at most one setting per group, the baseline first, members in the order proposed."""
    order = {proposal.name: index for index, proposal in enumerate(proposals)}
    groups: dict[str, list[str | None]] = {}
    for proposal in proposals:
        groups.setdefault(proposal.group, [None]).append(proposal.name)
    for chosen in itertools.product(*groups.values()):
        yield tuple(sorted((name for name in chosen if name), key=order.__getitem__))
