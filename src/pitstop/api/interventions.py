"""Interventions of one tune: which can be made in this program, and the runs themselves."""

import math

import msgspec

from pitstop.api.bench import Bench, error_tail
from pitstop.api.setup import Setup
from pitstop.measure.probe_folder import ProbeConfig
from pitstop.messages import say
from pitstop.records import Change, Run, TrialOutcome
from pitstop.records.results import Finding, InterventionResult
from pitstop.stats.busy import judge_quietness
from pitstop.tune.reading import read_trial
from pitstop.tune.search_actions import Intervene, Intervention, What

__all__ = ["intervene", "intervention_results", "possible_interventions", "with_measured_ceilings"]

# A step of these clocks does not end by taking a batch, so that one on a cached batch is still a step.
_CLOCKS = frozenset({"step", "optimizer", "backward", "forward"})
_WARM_BATCHES = 4  # the first batches of a loader without workers: imports, caches of the file system
_LAYER = "data"


def possible_interventions(setup: Setup) -> tuple[What, ...]:
    """Return the interventions that mean something here: a training loader, and for it alone exactly one."""
    steps = setup.baseline.analysis.steps
    loaders = _training_loaders(setup)
    if steps is None or steps.clock not in _CLOCKS or not loaders:
        return ()
    return ("cached-batch", "loader-alone") if _batches_per_step(setup) else ("cached-batch",)


def intervene(setup: Setup, action: Intervene) -> Intervention:
    """Make one throw-away run of the unchanged program and return what it showed."""
    return _alone(setup) if action.what == "loader-alone" else _cached(setup)


def intervention_results(setup: Setup, seen: list[Intervention]) -> tuple[InterventionResult, ...]:
    """Return what reports show; the speed-up is against the mean of all baselines measured."""
    step_ns = setup.baseline_step_ns()
    return tuple(
        InterventionResult(
            what=one.what,
            speedup=step_ns / one.step_ns if one.step_ns and step_ns else None,
            outcome=one.outcome.value,
            reason=one.detail,
        )
        for one in seen
    )


def with_measured_ceilings(
    findings: tuple[Finding, ...], results: tuple[InterventionResult, ...]
) -> tuple[Finding, ...]:
    """Return the findings about the input with the ceiling that the cached batch showed, where the ledger's promises more.

    Removing the whole input is the most that a remedy of it can do. A finding that also blames another layer keeps its own.
    """
    cached = next((one.speedup for one in results if one.what == "cached-batch" and one.speedup), None)
    if cached is None:
        return findings
    bound = max(1.0, cached)
    return tuple(
        msgspec.structs.replace(
            one,
            ceiling_speedup=bound,
            evidence=(*one.evidence, say("tune.ceiling_measured", ratio=f"{cached:.2f}")),
        )
        if one.layer == _LAYER and bound < one.ceiling_speedup
        else one
        for one in findings
    )


def _cached(setup: Setup) -> Intervention:
    config = ProbeConfig(
        mode="clock",
        stop_after_steps=setup.baseline.stop_after,
        project_root=str(setup.root),
        intervention={"what": "cached-batch", "loaders": sorted(_training_loaders(setup))},
    )
    run, folder = setup.bench.run("cached-batch", change=Change(), probe=config)
    trial = read_trial(
        run,
        window=setup.baseline.window,
        proposals=(),
        tolerate_load=setup.tolerate_load,
        over_memory=run.over_memory,
        error_tail=error_tail(folder),
    )
    measured = trial.outcome is TrialOutcome.MEASURED
    return Intervention(
        what="cached-batch",
        outcome=trial.outcome,
        step_ns=trial.ns_per_step if measured else None,
        wall_ns=trial.wall_ns,
        detail=trial.detail,
    )


def _alone(setup: Setup) -> Intervention:
    per_step = _batches_per_step(setup) or 1
    (number,) = _training_loaders(setup)
    loader = next(one for one in setup.view.evidence.loaders if one.id == number)
    window = setup.baseline.window
    step_ns = setup.baseline.analysis.steps.steady_mean_ns if setup.baseline.analysis.steps else 0.0
    config = ProbeConfig(
        mode="clock",
        project_root=str(setup.root),
        intervention={
            "what": "loader-alone",
            "loaders": [number],
            "batches": window.steps * per_step,
            "warm": max(_WARM_BATCHES, loader.num_workers * (loader.prefetch_factor or 2)),
            "limit_ns": math.ceil(step_ns * window.steps),
        },
    )
    run, folder = setup.bench.run("loader-alone", change=Change(), probe=config)
    outcome, detail = _how_it_ended(run, setup.bench, tail=error_tail(folder))
    drained = run.evidence.drained[0] if run.evidence.drained else None
    known = outcome is TrialOutcome.MEASURED and drained is not None and drained.batches > 0
    return Intervention(
        what="loader-alone",
        outcome=outcome if known or outcome is not TrialOutcome.MEASURED else TrialOutcome.TOO_FEW_STEPS,
        step_ns=drained.wall_ns / drained.batches * per_step if known and drained else None,
        wall_ns=run.ended_ns - run.started_ns,
        detail=detail,
    )


def _how_it_ended(run: Run, bench: Bench, *, tail: str) -> tuple[TrialOutcome, str]:
    if run.timed_out:
        return TrialOutcome.HUNG, ""
    if run.exit_code:
        return TrialOutcome.CRASHED, tail.strip().splitlines()[-1][
            :300
        ] if tail.strip() else f"exit code {run.exit_code}"
    quiet = judge_quietness(run.usage, window_ns=(run.started_ns, run.ended_ns))
    if not quiet.valid and not bench.tolerate_load:
        return TrialOutcome.BUSY, quiet.reason
    return TrialOutcome.MEASURED, ""


def _training_loaders(setup: Setup) -> frozenset[int]:
    return setup.baseline.analysis.train_loaders


def _batches_per_step(setup: Setup) -> int | None:
    """Return how many batches of the one training loader a step takes; None where there are several, or it cannot be told."""
    loaders = [one for one in setup.view.evidence.loaders if one.id in _training_loaders(setup)]
    steps = setup.baseline.analysis.steps
    if len(loaders) != 1 or steps is None or not loaders[0].batch_size or not any(steps.samples):
        return None
    steady = steps.samples[steps.warmup :] or steps.samples
    return max(1, round(sum(steady) / len(steady) / loaders[0].batch_size))
