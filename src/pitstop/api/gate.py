"""`pitstop gate`: two versions of a program run by turns on this machine, to tell whether the head is slower than its base."""

import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from pitstop.api.gate_setup import GateSetup, resume_gate, start_gate
from pitstop.api.gate_sides import Side
from pitstop.api.tune import ProgressSink
from pitstop.errors import CouldNotMeasure, ProgramFailed
from pitstop.measure.sandbox import describe
from pitstop.messages import say
from pitstop.records import Category, Trial, TrialOutcome, VerdictKind
from pitstop.records.results import SCHEMA, GateMemory, GateResult, GateSide
from pitstop.report.json import to_json
from pitstop.report.numbers import rough_duration
from pitstop.tune.gate_search import (
    BASE,
    FEWEST_PAIRS,
    HEAD,
    MOST_PAIRS,
    GateState,
    absorb,
    begin,
    judge,
    judge_memory,
    next_side,
    plan_looks,
)
from pitstop.tune.search_progress import Progress

__all__ = ["GateRequest", "run_gate"]

_AT_LEAST = (
    1.2  # of what is needed: a larger budget has longer windows (one hundredth of it each), and there are surprises
)
_TO_GO_ON_FROM = frozenset({TrialOutcome.MEASURED, TrialOutcome.BUSY})  # a failure is tried again when the gate goes on


class GateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for. `head` None is the working tree as it is; margins are shares (0.03 is 3 %).

    `budget_s`: None is five minutes, or for `resume` what the gate began with.
    """

    command: tuple[str, ...]
    cwd: Path
    base: str | None = None
    head: str | None = None
    run_root: Path | None = None
    budget_s: float | None = None
    margin: float = 0.03
    memory_margin: float = 0.10
    strict: bool = False
    resume: bool = False
    tolerate_load: bool = False
    allow_network: bool = False
    unsafe_trials: bool = False


def run_gate(request: GateRequest, *, progress: ProgressSink) -> GateResult:
    """Compare head and base and keep the result in a run folder. Raises PitstopError; the repository is only read."""
    began = time.monotonic()
    setup = resume_gate(request, progress=progress) if request.resume else start_gate(request, progress=progress)
    spent_before_s = setup.spent_s if request.resume else 0.0
    setup.bench.ends_s = ends_s = began + setup.budget_s - spent_before_s
    state, trials = _run(setup, ends_s=ends_s, progress=progress)
    result = _result(request, setup, state, trials=trials, wall_s=time.monotonic() - began + spent_before_s)
    setup.folder.write("gate.json", to_json(result))
    return result


def _run(setup: GateSetup, *, ends_s: float, progress: ProgressSink) -> tuple[GateState, int]:
    """Run both versions by turns until the pairs decide or the time is over; returns the state and the number of runs.

    Every run is in the journal before the next begins.
    """
    state, costs_ns = begin(setup.looks or (MOST_PAIRS,)), [trial.wall_ns for trial in setup.trials]
    for trial in setup.trials:
        state = absorb(state, trial, options=setup.options)
    while (side := next_side(state)) is not None:
        if setup.looks is None and state.pairs == 1:
            setup.looks = _looks(setup, state, left_s=ends_s - time.monotonic())
            setup.keep_looks(setup.looks)
            state = msgspec.structs.replace(state, looks=setup.looks)
        cost_s = sum(costs_ns) / 1e9 / max(1, len(costs_ns))
        left_s = max(0.0, ends_s - time.monotonic())
        if (2 - len(state.half)) * cost_s > left_s or not left_s:
            break
        phase = say("gate.phase_run", side=say(f"gate.{side}"), pair=state.pairs + 1, left=rough_duration(left_s))
        progress(phase, _progress(setup, state, done=len(costs_ns), cost_s=cost_s, left_s=left_s))
        trial = setup.bench.trial(
            (side,),
            change=setup.sides.base.change if side == BASE else setup.sides.head.change,
            window=setup.window,
            stop_after=setup.stop_after,
            must_compile=False,
        )
        costs_ns.append(trial.wall_ns)
        if trial.outcome in _TO_GO_ON_FROM:
            setup.keep(trial)
        state = absorb(state, trial, options=setup.options)
    return state, len(costs_ns)


def _looks(setup: GateSetup, state: GateState, *, left_s: float) -> tuple[int, ...]:
    """Return at which numbers of pairs to look, from what the first pair cost. Raises CouldNotMeasure where too few fit."""
    pair_ns = sum(one.wall_ns for one in (*state.base, *state.head))
    looks = plan_looks(left_ns=left_s * 1e9 + pair_ns, pair_ns=pair_ns)
    if looks is None:
        spent_s = setup.budget_s - left_s  # observing both versions, too
        needed_s = _AT_LEAST * (spent_s + (FEWEST_PAIRS - 1) * pair_ns / 1e9)
        raise CouldNotMeasure("gate.too_little_time", pairs=FEWEST_PAIRS, needed=rough_duration(needed_s))
    return looks


def _progress(setup: GateSetup, state: GateState, *, done: int, cost_s: float, left_s: float) -> Progress:
    """Return how far it is, at most: the pairs may decide at a look before the last."""
    pairs = setup.looks[-1] if setup.looks else FEWEST_PAIRS
    runs = max(1, 2 * (pairs - state.pairs) - len(state.half))
    return Progress(
        done=done,
        expected=done + runs,
        phase="confirming",
        eta_ns=round(min(runs * cost_s, left_s) * 1e9) if setup.looks else None,
        spent_ns=round((setup.budget_s - left_s) * 1e9),
    )


def _result(request: GateRequest, setup: GateSetup, state: GateState, *, trials: int, wall_s: float) -> GateResult:
    if state.failure is not None:
        raise _failure(state.failure)
    found = judge(state, options=setup.options)
    if found is None:
        key = "gate.busy" if state.invalid else "gate.too_few_pairs"
        raise CouldNotMeasure(key, pairs=state.pairs, invalid=state.invalid, needed=FEWEST_PAIRS)
    memory = _memory(state, margin=request.memory_margin)
    decided_against = found.kind is VerdictKind.SLOWER or any(one.worse for one in memory)
    return GateResult(
        schema=SCHEMA,
        command=request.command,
        cwd=str(request.cwd),
        base=_side(setup.sides.base, state.base, ledger_ns=setup.ledgers_ns[BASE]),
        head=_side(setup.sides.head, state.head, ledger_ns=setup.ledgers_ns[HEAD]),
        differing=setup.sides.differing,
        caveats=setup.sides.caveats,
        verdict=found.kind.value,
        speedup=found.speedup,
        ci=found.ci,
        pairs=found.pairs,
        further_pairs=found.further_pairs,
        detectable=found.detectable,
        margin=request.margin,
        memory=memory,
        passed=not decided_against and not (request.strict and found.kind is VerdictKind.UNDECIDED),
        strict=request.strict,
        invalid_trials=state.invalid,
        trials=trials,
        wall_s=wall_s,
        sandbox=describe(setup.plan),
        run_folder=str(setup.folder.path),
        by_sample=all(one.window_samples for one in (*state.base, *state.head)),
    )


def _failure(trial: Trial) -> ProgramFailed | CouldNotMeasure:
    """Return the error for a version that did not come to a time, though it had run before."""
    (name,) = trial.proposals
    values = {"side": say(f"gate.{name}"), "why": trial.detail or trial.outcome.value}
    if trial.outcome in (TrialOutcome.NOT_CONNECTED, TrialOutcome.TOO_FEW_STEPS, TrialOutcome.COULD_NOT_ACT):
        return CouldNotMeasure("gate.side_not_measured", **values)
    return ProgramFailed("gate.side_failed", **values)


def _memory(state: GateState, *, margin: float) -> tuple[GateMemory, ...]:
    found = []
    for of, attribute in (("process-tree", "peak_bytes"), ("device", "peak_device_bytes")):
        base, head = (tuple(getattr(one, attribute) for one in runs) for runs in (state.base, state.head))
        compared = judge_memory(base, head, margin=margin)
        if compared is not None:
            found.append(GateMemory(of=of, ratio=compared.ratio, ci=compared.ci, margin=margin, worse=compared.worse))
    return tuple(found)


def _side(side: Side, runs: Sequence[Trial], *, ledger_ns: dict[Category, int]) -> GateSide:
    times = [one.ns_per_step for one in runs if one.ns_per_step is not None]
    peaks = [one.peak_bytes for one in runs if one.peak_bytes]
    device = [one.peak_device_bytes for one in runs if one.peak_device_bytes]
    return GateSide(
        commit=side.commit,
        title=side.title,
        step_ns=round(statistics.fmean(times)) if times else None,
        ledger_ns=ledger_ns,
        peak_bytes=max(peaks, default=None),
        peak_device_bytes=max(device, default=None),
    )
