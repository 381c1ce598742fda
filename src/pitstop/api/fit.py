"""`pitstop fit`: the story of one fit, from the user's command to the fastest batch that fits and the edit that sets it."""

import time
from pathlib import Path

import msgspec

from pitstop.api.bench import error_tail
from pitstop.api.fit_deliver import deliver_fit
from pitstop.api.fit_setup import OBSERVED_STEPS, FitSetup, resume_fit, start_fit
from pitstop.api.tune import ProgressSink
from pitstop.measure.equivalence import read_equivalence
from pitstop.measure.probe_folder import ProbeConfig
from pitstop.messages import say
from pitstop.records import Change, Gate
from pitstop.records.results import FitResult
from pitstop.report.numbers import rough_duration
from pitstop.treat import CannotEdit
from pitstop.treat.accumulate import Accumulated, accumulated_batch, smaller_batch
from pitstop.tune.fit_reading import compare_losses, read_fit
from pitstop.tune.fit_search import Done, Fit, Tried, Try, largest_fitting, next_try

__all__ = ["FitRequest", "fit_program"]

_TIMED_STEPS = (4, 30)  # optimizer steps of a timing trial beyond the first
_TIMED_NS = 4_000_000_000
_SEARCH_SHARE = 0.8  # of the budget; the rest is for the check of the numbers and a run to the program's end
_CHECKED_STEPS = 6
_LEAST_S = 20.0


class FitRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for. `memory_bytes`: a limit of the address space for trials; None is the limit that is there."""

    command: tuple[str, ...]
    cwd: Path
    run_root: Path | None = None
    budget_s: float | None = None
    memory_bytes: int | None = None
    margin: float = 0.02
    larger: bool = False
    resume: bool = False
    allow_network: bool = False
    unsafe_trials: bool = False


def fit_program(request: FitRequest, *, progress: ProgressSink) -> FitResult:
    """Find the fastest batch that fits, check its numbers and deliver the edit. Raises PitstopError; never touches the user's files."""
    began = time.monotonic()
    setup = resume_fit(request, progress=progress) if request.resume else start_fit(request, progress=progress)
    tried = [*setup.journal.observations(Tried)]
    before_s = (sum(one.wall_ns for one in tried) - tried[-1].wall_ns * (not request.resume)) / 1e9
    ends_s = began + setup.stored.budget_s - before_s
    setup.bench.ends_s = ends_s
    options = msgspec.structs.replace(setup.options, budget_ns=round(setup.options.budget_ns * _SEARCH_SHARE))
    while not isinstance(action := next_try(tried, options), Done):
        progress(_words(action, tried=tried, left_s=ends_s - time.monotonic()), None)
        observed = _perform(setup, action, tried)
        setup.journal.append(observed)
        tried.append(observed)
    edit, cannot = _edit(setup, action.batch)
    check = to_the_end = None
    if edit.change != Change() and not cannot and action.batch is not None and action.batch < options.own:
        progress(say("fit.phase_check"), None)
        check = _check(setup, action.batch, lifted=_ran_lifted(tried, options.own), edit=edit)
    if edit.change != Change() and (left_s := ends_s - time.monotonic()) > _LEAST_S:
        progress(say("fit.phase_end", left=rough_duration(left_s)), None)
        to_the_end = _runs_to_its_end(setup, edit.change, left_s=left_s)
    return deliver_fit(
        setup,
        done=action,
        tried=tuple(tried),
        edit=edit,
        cannot=cannot,
        check=check,
        to_the_end=to_the_end,
        wall_s=time.monotonic() - began + before_s,
    )


def _words(action: Try, *, tried: list[Tried], left_s: float) -> str:
    key = "fit.phase_lifted" if action.lifted else f"fit.phase_{action.phase}"
    return say(key, batch=action.batch, trial=len(tried) + 1, left=rough_duration(max(0.0, left_s)))


def _edit(setup: FitSetup, batch: int | None) -> tuple[Accumulated, str]:
    """Return the edit for `batch`, and why it is only one of the batch size where accumulation could not be written."""
    from pitstop.records import Numerics  # noqa: PLC0415

    own = setup.options.own
    if batch is None or batch == own:
        return Accumulated(change=Change(), numerics=Numerics.EXACT), ""
    if batch > own:
        return Accumulated(
            change=smaller_batch(setup.view, batch),
            numerics=Numerics.TRAINING,
            reason=say("fit.larger_trains_otherwise"),
        ), ""
    try:
        return accumulated_batch(setup.view, own // batch), ""
    except CannotEdit as error:
        change = smaller_batch(setup.view, batch)
        return Accumulated(change=change, numerics=Numerics.TRAINING, reason=say("fit.smaller_steps")), error.reason


def _perform(setup: FitSetup, action: Try, tried: list[Tried]) -> Tried:
    """Run one trial. Until a run has shown the backward pass, the batch alone is made smaller, and the run is observed."""
    own = setup.options.own
    blind = action.batch != own and not setup.evidence.backwards
    try:
        if blind:
            change, accumulates = smaller_batch(setup.view, action.batch), False
        else:
            edit, cannot = _edit(setup, action.batch)
            change, accumulates = edit.change, action.batch < own and not cannot
    except CannotEdit as error:
        return Tried(batch=action.batch, outcome=Fit.FAILED, phase=action.phase, detail=error.reason)
    factor = own // action.batch if accumulates else 1
    steps = OBSERVED_STEPS if action.phase == "finding" else _timed_steps(tried, own)
    if not accumulates and action.batch < own and action.phase != "finding":
        steps = round(steps * own / action.batch)
    config = ProbeConfig(
        mode="profile" if blind else "clock", project_root=str(setup.bench.root), stop_after_steps=steps
    )
    before = setup.bench.address_space_bytes
    if action.lifted:
        setup.bench.address_space_bytes = None
    try:
        run, folder = setup.bench.run(f"{action.phase}-{action.batch}", change=change, probe=config)
    finally:
        setup.bench.address_space_bytes = before
    found = read_fit(
        run,
        action,
        limit=setup.limit,
        samples_per_step=action.batch * factor,
        error_tail=error_tail(folder),
    )
    if blind and run.evidence.backwards and found.outcome in (Fit.FITS, Fit.TIGHT):
        setup.learn(run)
    return found


def _timed_steps(tried: list[Tried], own: int) -> int:
    """Return how many optimizer steps a timing trial makes, from what the largest fitting size cost so far."""
    top = largest_fitting(tried)
    costs = [one.ns_per_sample for one in tried if one.batch == top and one.ns_per_sample is not None]
    wanted = round(_TIMED_NS / (costs[0] * own)) if costs else _TIMED_STEPS[0]
    return 1 + min(max(wanted, _TIMED_STEPS[0]), _TIMED_STEPS[1])


def _ran_lifted(tried: list[Tried], own: int) -> bool:
    return any(one.batch == own and one.lifted and one.outcome is Fit.FITS for one in tried)


def _check(setup: FitSetup, batch: int, *, lifted: bool, edit: Accumulated) -> Gate:
    """Compare losses of optimizer steps: of the whole batch, and of the same batch in parts.

    Where the program's own batch does not run, the same edit is checked on the batch that fits, divided once more.
    """
    own = setup.options.own
    own_fits = any(
        one.batch == own and one.outcome in (Fit.FITS, Fit.TIGHT) and not one.lifted
        for one in setup.journal.observations(Tried)
    )
    if own_fits or lifted:
        whole, parts = Change(), edit.change
    else:
        factor = next((factor for factor in range(min(own // batch, batch), 1, -1) if batch % factor == 0), None)
        if factor is None:
            return Gate(name="step-losses", passed=None, detail="missing")
        whole = smaller_batch(setup.view, batch)
        parts = accumulated_batch(setup.view, factor, whole=batch).change
    runs = []
    for label, change in (("whole", whole), ("parts", parts)):
        equivalence: dict[str, object] = {
            "role": "record",
            "steps": _CHECKED_STEPS,
            "stop_after_steps": _CHECKED_STEPS,
            "seed_offset": 0,
            "by_hand": False,
        }
        config = ProbeConfig(mode="equivalence", project_root=str(setup.bench.root), equivalence=equivalence)
        before = setup.bench.address_space_bytes
        if label == "whole" and lifted:
            setup.bench.address_space_bytes = None
        try:
            _run, folder = setup.bench.run(f"check-{label}", change=change, probe=config)
        finally:
            setup.bench.address_space_bytes = before
        runs.append(read_equivalence(folder / "probe"))
    return compare_losses(runs[0], runs[1])


def _runs_to_its_end(setup: FitSetup, change: Change, *, left_s: float) -> bool | None:
    """Run the changed program without the probe under the limit; None where the time was too short for it."""
    run, _folder = setup.bench.run("to-the-end", change=change, probe=None, timeout_s=left_s)
    return None if run.timed_out else run.exit_code == 0
