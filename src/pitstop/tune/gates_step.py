"""Teacher-forced gates: the same step from the same state, in the original's code and in the edited one.

The edited program's error against fp64 may be a few times the error that the original has itself, or shows when its weights
move by one unit in the last place (`same-math`) or its products are rounded to bfloat16 (`precision`). So the yardstick is
the program's own noise and no constant.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pitstop.messages import say
from pitstop.records import Gate
from pitstop.tune.gates_material import Apart, EquivalenceRun, Replayed

__all__ = ["teacher_forced", "update"]

# PyTorch's own rule for compiled against eager (torch._dynamo.utils.same): error to fp64 <= 2 to 3 times eager's own + 1e-5.
GRADIENT_MULTIPLE = 3.0
SLACK = 1e-5
LOSS_SLACK_LOW = 1e-3  # of the loss, in `precision`: below what anyone would call a fault
LOSS_MULTIPLE = 4.0  # one number per step and not thousands: luck moves it more
SCALE_MULTIPLE = 4.0  # likewise
SCALE_SLACK = 5e-3  # of the gradient's length, in `precision` only
LAYER_MULTIPLE = 6.0  # the worst of many tensors
LAYER_SLACK = 1e-4
UPDATE_MULTIPLE = 3.0
MOST_UPDATE = 0.02  # a limit above this sees nothing: the update depends on more than what was recorded
FLOOR = 1.2e-7  # unit roundoff of fp32: no program's noise is below
MOST_NOISE = 0.3  # of the whole gradient: three times that would let anything pass
UNJUDGED_NOISE = 0.15  # a tensor whose gradient is this noisy by itself hides a fault of its own size / 6
UNFAITHFUL = 10.0  # fp64 is no arbiter where it is this much further off than the ulp noise

Reference = Callable[[Replayed], Apart | None]


def teacher_forced(treated: EquivalenceRun, *, original: EquivalenceRun, precision: bool) -> list[Gate]:
    """Return the gates for loss, gradient, and the worst layer's gradient."""
    names = ("teacher-forced-loss", "teacher-forced-gradient", "teacher-forced-layers")
    reason = _unusable(treated, original)
    if reason is not None:
        return [Gate(name=name, passed=None, detail=reason) for name in names]
    mine = treated.replayed("plain")
    if any(one.errors or one.missing_fetches or one.backwards[0] != one.backwards[1] for one in mine):
        return [Gate(name=name, passed=False, detail=_shape(mine)) for name in names]
    noise = {
        variant: original.replayed(variant) for variant in ("plain", "ulp", "ulp-2", *(["bf16"] if precision else []))
    }
    if precision and not noise["bf16"]:
        return [Gate(name=name, passed=None, detail=say("gates.reason.no_bf16")) for name in names]
    reference, called = _reference(original)
    bench = _Bench(
        mine=mine, noise=tuple(replays for replays in noise.values() if replays), reference=reference, called=called
    )
    if bench.own("gradient") > MOST_NOISE:
        reason = say("gates.reason.noise", own=_percent(bench.own("gradient")))
        return [Gate(name=name, passed=None, detail=reason) for name in names]
    return [
        _loss(bench, slack=LOSS_SLACK_LOW if precision else SLACK),
        _gradient(bench),
        _layers(bench),
        *([_scale(bench)] if precision else []),
    ]


class _Bench(NamedTuple):
    """The edited program's replays, the original's in every arithmetic that shows its noise, and what both are held against."""

    mine: Sequence[Replayed]
    noise: tuple[tuple[Replayed, ...], ...]
    reference: Reference
    called: str

    def error(self, field: str) -> float | None:
        return _of(self.mine, self.reference, field)

    def own(self, field: str) -> float:
        return max(FLOOR, *(_of(replays, self.reference, field) or 0.0 for replays in self.noise))

    def cosine(self) -> str:
        cosines = [apart.cosine for one in self.mine if (apart := self.reference(one)) is not None]
        return "-" if not cosines or None in cosines else f"{min(c for c in cosines if c is not None):.6f}"


def _unusable(treated: EquivalenceRun, original: EquivalenceRun) -> str | None:
    """Return why the steps cannot be compared, or None."""
    if original.closure or treated.closure:
        return say("gates.reason.closure")
    own = original.replayed("plain")
    if not own:
        return say("gates.reason.no_replay", faults=original.trouble())
    if len(treated.replayed("plain")) < len(own):
        return say("gates.reason.treated_no_replay", faults=treated.trouble())
    ulp = _worst([one.to_capture.gradient for v in ("ulp", "ulp-2") for one in original.replayed(v)])
    back = _worst([one.to_capture.gradient for one in own])
    if back is None or back > GRADIENT_MULTIPLE * max(ulp or 0.0, FLOOR):
        return say("gates.reason.not_repeated", error=_shown(back))
    return None


def _shape(mine: Sequence[Replayed]) -> str:
    errors = sorted({error for one in mine for error in one.errors})
    fetches = sum(one.missing_fetches for one in mine)
    return say("gates.detail.shape", errors="; ".join(errors) or "-", missing=fetches)


def _reference(original: EquivalenceRun) -> tuple[Reference, str]:
    """Return fp64, unless it is missing or much further away than the original's own noise."""
    exact = [one.to_float64.gradient if one.to_float64 else None for one in original.replayed("plain")]
    near = [one.to_capture.gradient for v in ("ulp", "ulp-2") for one in original.replayed(v)]
    arbiter, ulp = _worst(exact), _worst(near)
    if arbiter is None or (ulp is not None and arbiter > UNFAITHFUL * max(ulp, FLOOR)):
        return (lambda one: one.to_capture), say("gates.detail.to_capture")
    return (lambda one: one.to_float64), say("gates.detail.to_float64")


def _worst(values: Sequence[float | None]) -> float | None:
    """Return the largest, or None if one is missing or there are none."""
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None


def _of(replays: Sequence[Replayed], reference: Reference, field: str) -> float | None:
    return _worst([getattr(apart, field) if (apart := reference(one)) is not None else None for one in replays])


def _loss(bench: _Bench, *, slack: float) -> Gate:
    own, error, steps = bench.own("loss"), bench.error("loss"), len(bench.mine)
    limit = LOSS_MULTIPLE * own + slack
    return Gate(
        name="teacher-forced-loss",
        passed=error is not None and error <= limit,
        measured=error,
        limit=limit,
        detail=say(
            "gates.detail.loss",
            error=_shown(error),
            own=_shown(own),
            times=LOSS_MULTIPLE,
            reference=bench.called,
            steps=steps,
        ),
        power=say("gates.power.loss", least=_percent(limit + own), steps=steps),
    )


def _gradient(bench: _Bench) -> Gate:
    own, error, steps = bench.own("gradient"), bench.error("gradient"), len(bench.mine)
    limit = GRADIENT_MULTIPLE * own + SLACK
    return Gate(
        name="teacher-forced-gradient",
        passed=error is not None and error <= limit and all(one.finite for one in bench.mine),
        measured=error,
        limit=limit,
        detail=say(
            "gates.detail.gradient",
            error=_shown(error),
            own=_shown(own),
            times=GRADIENT_MULTIPLE,
            reference=bench.called,
            steps=steps,
            cosine=bench.cosine(),
        ),
        power=say("gates.power.gradient", least=_percent(limit + own), steps=steps),
    )


def _layers(bench: _Bench) -> Gate:
    """Compare each parameter's gradient with that parameter's own noise; those that are noise by themselves are left out."""
    reference, whole = bench.reference, bench.own("gradient")
    worst, judged, least = 0.0, 0, 0.0
    total = max((len(apart.tensors) for one in bench.mine if (apart := reference(one)) is not None), default=0)
    for position in range(total):
        own = [_at(reference(one), position) for replays in bench.noise for one in replays]
        noise_here = max([value for value in own if value is not None], default=0.0)
        if noise_here > UNJUDGED_NOISE:
            continue
        judged += 1
        allowed = LAYER_MULTIPLE * max(noise_here, whole) + LAYER_SLACK
        least = max(least, allowed)
        errors = [_at(reference(one), position) for one in bench.mine]
        worst = max([worst, *(value / allowed for value in errors if value is not None)])
    if not judged:
        return Gate(name="teacher-forced-layers", passed=None, detail=say("gates.reason.layers_noisy", total=total))
    return Gate(
        name="teacher-forced-layers",
        passed=worst <= 1,
        measured=worst,
        limit=1.0,
        detail=say("gates.detail.layers", worst=_percent(worst), judged=judged, total=total, times=LAYER_MULTIPLE),
        power=say("gates.power.layers", least=_percent(least)),
    )


def _scale(bench: _Bench) -> Gate:
    """Compare the gradient's part along the reference: rounding errors cancel there, a wrong factor does not."""
    worst = _worst([_off(bench.reference(one)) for one in bench.mine])
    own = max(_worst([_off(bench.reference(one)) for one in replays]) or 0.0 for replays in bench.noise)
    limit = SCALE_MULTIPLE * own + SCALE_SLACK
    return Gate(
        name="teacher-forced-scale",
        passed=worst is not None and worst <= limit,
        measured=worst,
        limit=limit,
        detail=say(
            "gates.detail.scale", error=_shown(worst), own=_shown(own), times=SCALE_MULTIPLE, steps=len(bench.mine)
        ),
        power=say("gates.power.scale", least=_percent(limit + own), steps=len(bench.mine)),
    )


def _off(apart: Apart | None) -> float | None:
    return None if apart is None or apart.scale is None else abs(apart.scale - 1)


def _at(apart: Apart | None, position: int) -> float | None:
    return apart.tensors[position] if apart is not None and position < len(apart.tensors) else None


def update(treated: EquivalenceRun, *, original: EquivalenceRun) -> Gate:
    """Compare the optimizer's update from given gradients and memory, against the original's; what rounding explains is allowed."""
    name = "update"
    own = [one for replay in original.replayed("plain") for one in replay.updates]
    mine = [one for replay in treated.replayed("plain") for one in replay.updates]
    if not own or len(mine) != len(own):
        return Gate(name=name, passed=None, detail=say("gates.reason.no_update"))
    ratios = [
        (one.error, UPDATE_MULTIPLE * max(one.floor, FLOOR, ours.error or 0.0))
        for one, ours in zip(mine, own, strict=True)
    ]
    if any(one.error is None for one in own):
        return Gate(name=name, passed=None, detail=say("gates.reason.update_unseen", limit=_shown(None)))
    if any(error is None for error, _ in ratios):
        return Gate(name=name, passed=False, detail=say("gates.reason.not_finite"))
    error, limit = max(((e, bound) for e, bound in ratios if e is not None), key=lambda pair: pair[0] / pair[1])
    if limit > MOST_UPDATE:
        return Gate(name=name, passed=None, detail=say("gates.reason.update_unseen", limit=_shown(limit)))
    return Gate(
        name=name,
        passed=error <= limit,
        measured=error,
        limit=limit,
        detail=say("gates.detail.update", error=_shown(error), limit=_shown(limit), updates=len(mine)),
        power=say("gates.power.update", least=_percent(limit)),
    )


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %" if value >= 0.1 else f"{100 * value:.2g} %"
