"""Everything observed so far, and the table that screening and combining read: one pass over the observations."""

import math
from collections.abc import Iterable, Sequence

import msgspec

from pitstop.records import Numerics, Proposal, Trial, TrialOutcome
from pitstop.stats.screening import ScreenEstimate, TimedRun, noise_sd, screen
from pitstop.tune.search_actions import Intervention, Key, Length, NumericsReport, Observation, SearchOptions

__all__ = ["Facts", "Table", "add", "canonical", "log_cost_ratio", "numerics_of", "tabulate"]

# Share of a longer start that a filled compiler cache saves: a convnet's first step took 9 s cold and 1.5 s warm (traps.md);
# that is 83 % of the step and more of the compiling in it.
_SAVED_BY_CACHE = 0.85
_RISK = tuple(Numerics)  # exact first, training last


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of the search and its observations in order."""

    proposals: tuple[Proposal, ...]
    options: SearchOptions
    trials: tuple[Trial, ...] = ()
    reports: tuple[NumericsReport, ...] = ()
    lengths: tuple[Length, ...] = ()
    interventions: tuple[Intervention, ...] = ()
    spent_ns: int = 0

    @property
    def length(self) -> Length:
        """What is known of the program's length."""
        return max((self.options.length, *self.lengths), key=lambda one: (one.ended, one.steps))

    @property
    def left_ns(self) -> float:
        """What is left of the budget; infinite without one."""
        return math.inf if self.options.budget_ns is None else self.options.budget_ns - self.spent_ns

    @property
    def left_to_prove_ns(self) -> float:
        """What is left for the check and the least confirmation of something found: the reserve too."""
        return self.left_ns + self.options.reserve_ns


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """What the screening trials say, by set of proposals."""

    sd: float  # of the log cost of one run
    baselines: tuple[TimedRun, ...]
    estimates: dict[Key, ScreenEstimate]
    failures: dict[Key, Trial]  # first trial that ended otherwise than measured or busy
    busy: dict[Key, int]  # invalid trials in a row, so far, at the end
    wall_ns: dict[Key, float]  # expected cost of another trial
    first_wall_ns: dict[Key, float]  # cost of the first trial, compiling included
    step_ns: float  # a step of the baseline; nan without one
    start_ns: dict[
        Key, float
    ]  # from process start to the window: the baseline's mean, else the first trial's, caches empty
    extra_bytes: dict[Key, int]  # peak memory above the baseline's
    over_memory: frozenset[Key]
    since_baseline: int  # trials since the last baseline
    runs: dict[Key, int]  # trials of any outcome


def canonical(names: Iterable[str], *, proposals: tuple[Proposal, ...]) -> Key:
    """Return the names in the order of the proposals. Raises KeyError for a name that was not proposed."""
    wanted = set(names)
    known = {proposal.name for proposal in proposals}
    if missing := wanted - known:
        raise KeyError(f"not proposed: {sorted(missing)}")
    return tuple(proposal.name for proposal in proposals if proposal.name in wanted)


def add(facts: Facts, observation: Observation) -> Facts:
    """Return the facts with one more observation, its set of proposals in canonical order."""
    spent_ns = facts.spent_ns + observation.wall_ns
    if isinstance(observation, Length):
        return msgspec.structs.replace(facts, lengths=(*facts.lengths, observation), spent_ns=spent_ns)
    if isinstance(observation, Intervention):
        return msgspec.structs.replace(facts, interventions=(*facts.interventions, observation), spent_ns=spent_ns)
    key = canonical(observation.proposals, proposals=facts.proposals)
    observation = msgspec.structs.replace(observation, proposals=key)
    if isinstance(observation, Trial):
        return msgspec.structs.replace(facts, trials=(*facts.trials, observation), spent_ns=spent_ns)
    return msgspec.structs.replace(facts, reports=(*facts.reports, observation), spent_ns=spent_ns)


def numerics_of(key: Key, *, proposals: tuple[Proposal, ...]) -> Numerics:
    """Return the riskiest class among the members; `exact` for the baseline."""
    classes = [_RISK.index(proposal.numerics) for proposal in proposals if proposal.name in key]
    return _RISK[max(classes, default=0)]


def log_cost_ratio(baseline: Trial, treated: Trial) -> float:
    """Return log(baseline / treated) per sample where both know their samples, else per step."""
    by_sample = bool(baseline.window_samples and treated.window_samples)
    return _log_cost(baseline, by_sample=by_sample) - _log_cost(treated, by_sample=by_sample)


def tabulate(facts: Facts) -> Table:
    """Return the table. Trials without a window count as too short."""
    measured = [trial for trial in facts.trials if is_measured(trial)]
    by_sample = bool(measured) and all(trial.window_samples for trial in measured)
    timed: dict[Key, list[TimedRun]] = {(): []}
    failures: dict[Key, Trial] = {}
    busy: dict[Key, int] = {}
    walls: dict[Key, list[int]] = {}
    since_baseline = 0
    clock_ns = 0.0
    for trial in facts.trials:
        key = trial.proposals
        walls.setdefault(key, []).append(trial.wall_ns)
        at_ns = clock_ns + trial.wall_ns / 2
        clock_ns += max(trial.wall_ns, 1)
        if trial.outcome is TrialOutcome.BUSY:
            busy[key] = busy.get(key, 0) + 1
        elif not is_measured(trial):
            failures.setdefault(key, trial)
        else:
            busy[key] = 0
            timed.setdefault(key, []).append(TimedRun(at_ns=at_ns, log_cost=_log_cost(trial, by_sample=by_sample)))
            since_baseline = since_baseline + 1 if key else 0
    baselines = tuple(timed.pop(()))
    estimates: dict[Key, ScreenEstimate] = {}
    sd = noise_sd(baselines)
    if baselines:
        repeats = [
            [screen([run], baselines=baselines, sd=sd).log_ratio for run in runs]
            for runs in timed.values()
            if len(runs) > 1
        ]
        sd = noise_sd(baselines, repeats)
        estimates = {key: screen(runs, baselines=baselines, sd=sd) for key, runs in timed.items()}
    extra_bytes, over_memory = _memory(facts, measured)
    return Table(
        sd=sd,
        baselines=baselines,
        estimates={key: value for key, value in estimates.items() if key not in failures},
        failures=failures,
        busy=busy,
        wall_ns=_repeat_costs(facts.trials),
        first_wall_ns={key: float(values[0]) for key, values in walls.items()},
        step_ns=_mean([trial.ns_per_step for trial in measured if not trial.proposals]),
        start_ns=_starts(measured),
        extra_bytes=extra_bytes,
        over_memory=over_memory,
        since_baseline=since_baseline,
        runs={key: len(values) for key, values in walls.items()},
    )


def _repeat_costs(trials: Iterable[Trial]) -> dict[Key, float]:
    """Return what one more trial of each set should cost: the mean of its repeats, else its first one, compiling less.

    The first trial of a set compiles into an empty cache, later ones find it filled.
    """
    by_key: dict[Key, list[Trial]] = {}
    for trial in trials:
        by_key.setdefault(trial.proposals, []).append(trial)
    starts = [trial.first_ns for trial in by_key.get((), []) if trial.first_ns is not None]
    usual_start = sum(starts) / len(starts) if starts else math.inf
    costs: dict[Key, float] = {}
    for key, runs in by_key.items():
        repeats = runs if not key else runs[1:]
        if repeats:
            costs[key] = sum(trial.wall_ns for trial in repeats) / len(repeats)
        else:
            compiling = max(0.0, (runs[0].first_ns or 0) - usual_start)
            costs[key] = runs[0].wall_ns - _SAVED_BY_CACHE * compiling
    return costs


def _starts(measured: list[Trial]) -> dict[Key, float]:
    starts: dict[Key, list[int]] = {}
    for trial in measured:
        if trial.first_ns is not None:
            starts.setdefault(trial.proposals, []).append(trial.first_ns)
    return {key: float(seen[0]) if key else _mean(seen) for key, seen in starts.items()}


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else math.nan


def is_measured(trial: Trial) -> bool:
    """Whether the trial has a time that counts."""
    return trial.outcome is TrialOutcome.MEASURED and bool(trial.window_ns) and trial.window_steps > 0


def _log_cost(trial: Trial, *, by_sample: bool) -> float:
    assert trial.window_ns  # noqa: S101 - is_measured
    return math.log(trial.window_ns / (trial.window_samples if by_sample else trial.window_steps))


def _memory(facts: Facts, measured: list[Trial]) -> tuple[dict[Key, int], frozenset[Key]]:
    """Extra peak memory per set, by the medians over its trials, and the sets that need more than is allowed."""
    host = _medians((trial.proposals, trial.peak_bytes) for trial in measured)
    device = _medians((trial.proposals, trial.peak_device_bytes) for trial in measured)
    options = facts.options
    extra: dict[Key, int] = {}
    over: set[Key] = set()
    base = host.get(())
    if base is not None:
        allowed = max(options.memory_share * base, options.memory_bytes)
        extra = {key: round(peak - base) for key, peak in host.items() if key}
        over |= {key for key, more in extra.items() if more > allowed}
    base_device = device.get(())
    if base_device:
        limit = base_device * (1 + options.device_memory_share)
        over |= {key for key, peak in device.items() if key and peak > limit}
    return extra, frozenset(over)


def _medians(peaks: Iterable[tuple[Key, int | None]]) -> dict[Key, float]:
    values: dict[Key, list[int]] = {}
    for key, peak in peaks:
        if peak is not None:
            values.setdefault(key, []).append(peak)
    middle = {}
    for key, known in values.items():
        known.sort()
        middle[key] = (known[(len(known) - 1) // 2] + known[len(known) // 2]) / 2
    return middle
