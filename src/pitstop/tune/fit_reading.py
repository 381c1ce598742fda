"""From the run of a trial to what it says about one batch size: did it fit, how much did it need, what did a sample cost."""

from typing import Literal

import msgspec

from pitstop.diagnose.steps import find_steps
from pitstop.records import Gate, Run
from pitstop.tune.fit_search import HEADROOM, Fit, Tried, Try
from pitstop.tune.gates_material import EquivalenceRun
from pitstop.tune.reading import out_of_memory

__all__ = ["Limit", "compare_losses", "read_fit"]

LimitKind = Literal["address-space", "control-group", "machine"]

_KILLED = 128 + 9
_WARM_STEPS = 1  # memory pools and the optimizer's state are made in the first step
_FEWEST_STEPS = 2
# Under a limit of the address space, threads and libraries run out of it in words of their own.
_ADDRESS_SPACE_WORDS = (
    "thread creation failed",
    "can't start new thread",
    "failed to map segment",
    "pthread_create failed",
    "unable to mmap",
)
# One step's loss in float32, added up in another order, and a few steps of an optimizer on from there; what a wrong weight of
# a part does to the first is of the order of 1.
_FIRST_STEP_LIMIT = 1e-4
_LATER_LIMIT = 1e-2
_COMPARED_STEPS = 6


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """What memory a trial may have. `ours`: pitstop sets it (--memory), so that it can be lifted."""

    kind: LimitKind
    num_bytes: int
    ours: bool = False


def read_fit(run: Run, action: Try, *, limit: Limit, samples_per_step: int, error_tail: str) -> Tried:
    """Return the trial of one size. `samples_per_step`: of one optimizer step, whatever the number of backward passes in it."""
    end = run.end
    peak = run.usage.peak_pss_bytes or run.usage.peak_rss_bytes
    if limit.kind == "address-space":
        peak = end.peak_address_bytes if end is not None else None
    device = end.peak_device_bytes if end is not None else None
    last_line = error_tail.strip().splitlines()[-1][:300] if error_tail.strip() else ""
    outcome, detail = _outcome(run, limit=limit, error_tail=error_tail, last_line=last_line)
    cost = _ns_per_sample(run, samples_per_step) if outcome is Fit.FITS else None
    if outcome is Fit.FITS and cost is None:
        outcome, detail = Fit.FAILED, last_line or "0 steps"
    if outcome is Fit.FITS and not action.lifted:
        whole = end.device_bytes if end is not None else None
        full = peak is not None and peak > HEADROOM * limit.num_bytes
        full_device = device is not None and whole is not None and device > HEADROOM * whole
        outcome = Fit.TIGHT if full or full_device else Fit.FITS
    return Tried(
        batch=action.batch,
        outcome=outcome,
        phase=action.phase,
        lifted=action.lifted,
        peak_bytes=peak,
        peak_device_bytes=device,
        ns_per_sample=cost,
        wall_ns=run.ended_ns - run.started_ns,
        detail=detail,
    )


def _outcome(run: Run, *, limit: Limit, error_tail: str, last_line: str) -> tuple[Fit, str]:
    tail = error_tail.lower()
    no_room = limit.kind == "address-space" and any(words in tail for words in _ADDRESS_SPACE_WORDS)
    if run.over_memory or (run.exit_code and (out_of_memory(error_tail) or no_room)):
        return Fit.OUT_OF_MEMORY, last_line
    if run.exit_code == _KILLED and not run.timed_out:
        return Fit.OUT_OF_MEMORY, last_line or "SIGKILL"
    if run.timed_out:
        return Fit.FAILED, "timeout"
    if run.exit_code:
        return Fit.FAILED, last_line or f"exit code {run.exit_code}"
    if run.end is not None and run.end.loss_finite is False:
        return Fit.FAILED, f"loss {run.end.last_loss}"
    return Fit.FITS, ""


def _ns_per_sample(run: Run, samples_per_step: int) -> float | None:
    steps = find_steps(run.main.events if run.main is not None else ())
    if steps is None or steps.count < _FEWEST_STEPS:
        return None
    wall = steps.ends_ns[-1] - steps.ends_ns[_WARM_STEPS - 1]
    return wall / ((steps.count - _WARM_STEPS) * samples_per_step)


def compare_losses(whole: EquivalenceRun | None, parts: EquivalenceRun | None) -> Gate:
    """Compare the losses of optimizer steps: the sum over a step's weighted parts is the loss of the whole batch.

    Later steps agree only if the gradients of the earlier ones did. Not made where a run left no numbers, or saw other samples.
    """
    if whole is None or parts is None or not whole.losses or not parts.losses:
        return Gate(name="step-losses", passed=None, detail="missing")
    pairs = list(zip(map(_sum, whole.losses), map(_sum, parts.losses), strict=False))[:_COMPARED_STEPS]
    if any(a is None or b is None for a, b in pairs):
        return Gate(name="step-losses", passed=None, detail="not finite")
    apart = [abs(a - b) / max(abs(a), 1e-12) for a, b in pairs if a is not None and b is not None]
    if not _same_samples(whole, parts):
        return Gate(name="step-losses", passed=None, measured=apart[0], limit=_FIRST_STEP_LIMIT, detail="samples")
    passed = apart[0] <= _FIRST_STEP_LIMIT and max(apart) <= _LATER_LIMIT
    worst = apart[0] if apart[0] > _FIRST_STEP_LIMIT else max(apart)
    limit = _FIRST_STEP_LIMIT if apart[0] > _FIRST_STEP_LIMIT else _LATER_LIMIT
    return Gate(name="step-losses", passed=passed, measured=worst, limit=limit, detail=str(len(apart)))


def _sum(values: tuple[float | None, ...]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _same_samples(whole: EquivalenceRun, parts: EquivalenceRun) -> bool:
    """Whether the training loaders delivered the same samples in the same order, as far as both went."""
    mine, theirs = whole.training_loaders(), parts.training_loaders()
    if len(mine) != len(theirs) or not mine:
        return False
    for one, other in zip(mine, theirs, strict=True):
        for rows, others in zip(one.rows, other.rows, strict=False):
            if any(a != b for a, b in zip(rows, others, strict=False)):
                return False
    return True
