"""`pitstop gate`: two versions of a program run by turns on this machine, to tell whether the head is slower than its base."""

import statistics
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from pitstop.api.analysis import Analysis
from pitstop.api.baseline import Baseline, observe_baseline
from pitstop.api.bench import Bench
from pitstop.api.gate_sides import Side, Sides, make_sides
from pitstop.api.program import program_name, read_program
from pitstop.api.tune import ProgressSink
from pitstop.errors import CouldNotMeasure, ProgramFailed, WrongUse
from pitstop.measure.git import find_repository
from pitstop.measure.machine import read_machine
from pitstop.measure.sandbox import describe, plan_sandbox
from pitstop.messages import say
from pitstop.records import CATEGORIES, Category, Ledger, Trial, TrialOutcome, VerdictKind
from pitstop.records.results import SCHEMA, GateMemory, GateResult, GateSide
from pitstop.report.json import to_json
from pitstop.report.numbers import rough_duration
from pitstop.store import RunFolder, new_run_folder
from pitstop.tune.gate_search import (
    BASE,
    FEWEST_PAIRS,
    HEAD,
    MOST_PAIRS,
    GateOptions,
    GateState,
    absorb,
    begin,
    judge,
    judge_memory,
    next_side,
    plan_looks,
)

__all__ = ["GateRequest", "run_gate"]

BUDGET_S = 300.0
_MOST_BUSY = 1000
_AT_LEAST = 1.2  # of the pairs that are needed: what a budget that is named as enough leaves for surprises


class GateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for. `head` None is the working tree as it is; margins are shares (0.03 is 3 %)."""

    command: tuple[str, ...]
    cwd: Path
    base: str | None = None
    head: str | None = None
    run_root: Path | None = None
    budget_s: float = BUDGET_S
    margin: float = 0.03
    memory_margin: float = 0.10
    strict: bool = False
    tolerate_load: bool = False
    allow_network: bool = False
    unsafe_trials: bool = False


def run_gate(request: GateRequest, *, progress: ProgressSink) -> GateResult:
    """Compare head and base and keep the result in a run folder. Raises PitstopError; the repository is only read."""
    began = time.monotonic()
    program = read_program(list(request.command), cwd=request.cwd, asked="gate")
    repository = find_repository(request.cwd)
    folder = new_run_folder(
        request.run_root or request.cwd, name=f"gate-{program_name(program)}", now=datetime.now().astimezone()
    )
    base = repository.default_base() if request.base is None else request.base
    sides = make_sides(repository, base=base, head=request.head, folder=folder.path / "versions")
    if not sides.differing:
        raise WrongUse("gate.nothing_differs", base=base)
    plan = plan_sandbox(
        project_root=sides.root,
        scratch=folder.path / "scratch",
        allow_network=request.allow_network,
        unsafe=request.unsafe_trials,
    )
    progress(say("tune.protected", plan=describe(plan)), None)
    bench = Bench(program, root=sides.root, folder=folder.path, plan=plan, tolerate_load=request.tolerate_load)
    bench.ends_s = began + request.budget_s
    observed = {
        name: _observe(bench, side, name=name, budget_s=request.budget_s, progress=progress)
        for name, side in ((BASE, sides.base), (HEAD, sides.head))
    }
    # A busy machine is waited for as long as the budget lasts.
    options = GateOptions(margin=request.margin, strict=request.strict, busy_repeats=_MOST_BUSY)
    state, trials = _run(bench, sides, observed[BASE], options=options, ends_s=bench.ends_s, progress=progress)
    result = _result(
        request,
        sides,
        state,
        options=options,
        observed={name: one.analysis for name, one in observed.items()},
        trials=trials,
        wall_s=time.monotonic() - began,
        sandbox=describe(plan),
        folder=folder,
    )
    folder.write("gate.json", to_json(result))
    return result


def _observe(bench: Bench, side: Side, *, name: str, budget_s: float, progress: ProgressSink) -> Baseline:
    """Look at one version for some steps. Raises the error of `observe_baseline`, with the version that it is about."""
    progress(say("gate.phase_observe", side=say(f"gate.{name}")), None)
    try:
        found = observe_baseline(
            bench, budget_s=budget_s, cpus=read_machine().cpus, change=side.change, label=f"observe-{name}"
        )
    except ProgramFailed as error:
        raise ProgramFailed(
            "gate.side_failed",
            side=say(f"gate.{name}"),
            why=say(error.key, **error.values),
            program_output=error.program_output,
        ) from error
    except CouldNotMeasure as error:
        raise CouldNotMeasure(
            "gate.side_not_measured",
            side=say(f"gate.{name}"),
            why=say(error.key, **error.values),
            program_output=error.program_output,
        ) from error
    run = found.analysis.run
    bench.baseline_wall_s = max(bench.baseline_wall_s or 0.0, (run.ended_ns - run.started_ns) / 1e9)
    return found


def _run(
    bench: Bench, sides: Sides, baseline: Baseline, *, options: GateOptions, ends_s: float, progress: ProgressSink
) -> tuple[GateState, int]:
    """Run both versions by turns until the pairs decide or the time is over; returns the state and the number of runs."""
    state, trials, began = begin((MOST_PAIRS,)), 0, time.monotonic()
    while (side := next_side(state)) is not None:
        cost_s = (time.monotonic() - began) / max(1, trials)
        if trials and time.monotonic() + (2 - len(state.half)) * cost_s > ends_s:
            break
        left = rough_duration(max(0.0, ends_s - time.monotonic()))
        progress(say("gate.phase_run", side=say(f"gate.{side}"), pair=state.pairs + 1, left=left), None)
        trial = bench.trial(
            (side,),
            change=sides.base.change if side == BASE else sides.head.change,
            window=baseline.window,
            stop_after=baseline.stop_after,
            must_compile=False,
        )
        trials += 1
        first = state.pairs == 0
        state = absorb(state, trial, options=options)
        if first and state.pairs == 1:
            pair_ns = sum(one.wall_ns for one in (*state.base, *state.head))
            looks = plan_looks(left_ns=(ends_s - time.monotonic()) * 1e9 + pair_ns, pair_ns=pair_ns)
            if looks is None:
                needed_s = time.monotonic() - began + _AT_LEAST * (FEWEST_PAIRS - 1) * pair_ns / 1e9
                raise CouldNotMeasure("gate.too_little_time", pairs=FEWEST_PAIRS, needed=rough_duration(2 * needed_s))
            state = msgspec.structs.replace(state, looks=looks)
    return state, trials


def _result(
    request: GateRequest,
    sides: Sides,
    state: GateState,
    *,
    options: GateOptions,
    observed: dict[str, Analysis],
    trials: int,
    wall_s: float,
    sandbox: str,
    folder: RunFolder,
) -> GateResult:
    if state.failure is not None:
        raise _failure(state.failure)
    found = judge(state, options=options)
    if found is None:
        key = "gate.busy" if state.invalid else "gate.too_few_pairs"
        raise CouldNotMeasure(key, pairs=state.pairs, invalid=state.invalid, needed=FEWEST_PAIRS)
    memory = _memory(state, margin=request.memory_margin)
    decided_against = found.kind is VerdictKind.SLOWER or any(one.worse for one in memory)
    return GateResult(
        schema=SCHEMA,
        command=request.command,
        cwd=str(request.cwd),
        base=_side(sides.base, state.base, observed[BASE]),
        head=_side(sides.head, state.head, observed[HEAD]),
        differing=sides.differing,
        caveats=sides.caveats,
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
        sandbox=sandbox,
        run_folder=str(folder.path),
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


def _per_step(ledger: Ledger) -> dict[Category, int]:
    return {name: round(ledger.categories_ns[name] / ledger.steps) for name in CATEGORIES}


def _side(side: Side, runs: Sequence[Trial], analysis: Analysis) -> GateSide:
    times = [one.ns_per_step for one in runs if one.ns_per_step is not None]
    peaks = [one.peak_bytes for one in runs if one.peak_bytes]
    device = [one.peak_device_bytes for one in runs if one.peak_device_bytes]
    ledger = analysis.ledger
    return GateSide(
        commit=side.commit,
        title=side.title,
        step_ns=round(statistics.fmean(times)) if times else None,
        ledger_ns=_per_step(ledger) if ledger else {},
        peak_bytes=max(peaks, default=None),
        peak_device_bytes=max(device, default=None),
    )
