"""Gates over the whole recording: every step's loss, what happened in it, the optimizer's settings, and bits."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from pitstop.messages import say
from pitstop.records import Gate
from pitstop.tune.gates_material import EquivalenceRun

__all__ = ["bit_equal", "finite", "rhythm", "settings", "trajectory_paired", "trajectory_unpaired"]

PAIRED_FRACTION = 0.25  # of the spread between seeds: docs/numerics.md has correct changes at 0.00-0.07
UNPAIRED_ALPHA = 0.01  # one correct change in a hundred is turned away
POWER = 0.9
FEWEST_STEPS = 10
SETTINGS_TOLERANCE = 1e-6  # a schedule computed in another order


def finite(treated: EquivalenceRun, *, original: EquivalenceRun) -> Gate:
    """Check that no loss or gradient of the edited program is NaN or Inf where the original's is not."""
    name = "finite"
    if not treated.losses:
        return Gate(name=name, passed=None, detail=say("gates.reason.no_losses", faults=treated.trouble()))
    steps = say("gates.detail.finite", steps=len(treated.losses))
    if not original.finite:
        return Gate(name=name, passed=None, detail=say("gates.reason.baseline_not_finite"))
    replayed = all(one.finite for one in treated.replayed("plain"))
    return Gate(name=name, passed=treated.finite and replayed, detail=steps)


def bit_equal(treated: EquivalenceRun, *, original: EquivalenceRun, repeated: EquivalenceRun | None) -> Gate:
    """Check that every loss and the final weights are the same to the last bit, in a program that repeats itself."""
    name = "bit-equal"
    if repeated is None or not original.complete or not repeated.complete:
        return Gate(name=name, passed=None, detail=say("gates.reason.no_repeat"))
    if _differing(repeated, original):
        return Gate(
            name=name, passed=None, detail=say("gates.reason.not_reproducible", steps=_differing(repeated, original))
        )
    different = _differing(treated, original)
    return Gate(
        name=name,
        passed=different == 0,
        measured=float(different),
        limit=0.0,
        detail=say("gates.detail.bits", different=different, steps=len(original.losses)),
        power=say("gates.power.bits", steps=len(original.losses)),
    )


def _differing(one: EquivalenceRun, other: EquivalenceRun) -> int:
    """Return the number of steps whose losses differ, and 1 more if the final weights do."""
    steps = max(len(one.losses), len(other.losses))
    same = sum(a == b for a, b in zip(one.losses, other.losses, strict=False))
    return steps - same + (one.hash_end is None or one.hash_end != other.hash_end)


def rhythm(treated: EquivalenceRun, *, original: EquivalenceRun) -> Gate:
    """Check that each step has as many backward passes, batches, optimizer steps and gradients as the original's."""
    name = "rhythm"
    steps = min(len(original.rhythm), len(treated.rhythm))
    if steps < FEWEST_STEPS:
        return Gate(name=name, passed=None, detail=say("gates.reason.few_steps", steps=steps, least=FEWEST_STEPS))
    # A tensor's gradient may vanish by rounding: of that count only "none at all" is compared.
    kinds = [[(*step[:3], step[3] > 0) for step in run.rhythm[:steps]] for run in (original, treated)]
    differing = [step for step, (one, other) in enumerate(zip(*kinds, strict=True)) if one != other]
    return Gate(
        name=name,
        passed=not differing,
        measured=float(len(differing)),
        limit=0.0,
        detail=say("gates.detail.rhythm", different=len(differing), steps=steps),
        power=say("gates.power.rhythm", steps=steps),
    )


def settings(treated: EquivalenceRun, *, original: EquivalenceRun) -> Gate:
    """Check that learning rate, weight decay and the like are the original's at every step."""
    name = "settings"
    steps = min(len(original.settings), len(treated.settings))
    if not steps:
        return Gate(name=name, passed=None, detail=say("gates.reason.few_steps", steps=steps, least=1))
    found: dict[str, int] = {}
    for step in range(steps):
        for key in _different_settings(original.settings[step], treated.settings[step]):
            found.setdefault(key, step)
    return Gate(
        name=name,
        passed=not found,
        measured=float(len(found)),
        limit=0.0,
        detail=say(
            "gates.detail.settings", names=", ".join(f"{k} ({s + 1})" for k, s in found.items()) or "-", steps=steps
        ),
        power=say("gates.power.settings", tolerance=SETTINGS_TOLERANCE),
    )


Step = tuple[tuple[int, tuple[dict[str, float | tuple[float, ...]], ...]], ...]


def _different_settings(original: Step, treated: Step) -> set[str]:
    found: set[str] = set()
    if len(original) != len(treated):
        return {"optimizers"}
    for (_, groups), (_, others) in zip(original, treated, strict=True):
        if len(groups) != len(others):
            return {"groups"}
        for group, other in zip(groups, others, strict=True):
            found |= {key for key in group.keys() | other.keys() if not _close(group.get(key), other.get(key))}
    return found


def _close(one: float | tuple[float, ...] | None, two: float | tuple[float, ...] | None) -> bool:
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(_close(a, b) for a, b in zip(one, two, strict=True))
    if isinstance(one, (int, float)) and isinstance(two, (int, float)):
        return math.isclose(one, two, rel_tol=SETTINGS_TOLERANCE, abs_tol=0.0) or one == two
    return one == two


def _paths(runs: Sequence[EquivalenceRun]) -> NDArray[np.float64] | None:
    """Return the runs' smoothed losses over the steps that all have, or None if too few."""
    losses = [run.loss_per_step() for run in runs]
    steps = min(map(len, losses), default=0)
    if steps < FEWEST_STEPS:
        return None
    width = max(1, steps // 8)
    window = np.ones(width) / width
    return np.array([np.convolve(values[:steps], window, mode="valid") for values in losses])


def trajectory_paired(treated: EquivalenceRun, *, baseline: Sequence[EquivalenceRun]) -> Gate:
    """Check that the same seed's loss curve stays within a fraction of what another seed changes."""
    name = "trajectory"
    paths = _paths([treated, *baseline])
    if len(baseline) < 2 or paths is None:
        return Gate(name=name, passed=None, detail=say("gates.reason.no_path", seeds=len(baseline), least=FEWEST_STEPS))
    seeds = paths[1:]
    pairs = [(a, b) for a in range(len(seeds)) for b in range(a)]
    spread = float(np.mean([np.abs(seeds[a] - seeds[b]).mean() for a, b in pairs]))
    difference = float(np.abs(paths[0] - seeds[0]).mean())
    limit = PAIRED_FRACTION * spread
    return Gate(
        name=name,
        passed=difference <= limit,
        measured=difference,
        limit=limit,
        detail=say(
            "gates.detail.paired", difference=f"{difference:.2g}", spread=f"{spread:.2g}", fraction=PAIRED_FRACTION
        ),
        power=say("gates.power.path", shift=f"{limit:.2g}", steps=len(treated.losses)),
    )


def trajectory_unpaired(treated: Sequence[EquivalenceRun], *, baseline: Sequence[EquivalenceRun]) -> Gate:
    """Test that the mean loss after the first quarter is the edited program's as the original's over seeds (Student's t)."""
    name = "trajectory"
    paths = _paths([*treated, *baseline])
    if min(len(treated), len(baseline)) < 2 or paths is None:
        return Gate(
            name=name,
            passed=None,
            detail=say("gates.reason.no_path", seeds=min(len(treated), len(baseline)), least=FEWEST_STEPS),
        )
    means = paths[:, paths.shape[1] // 4 :].mean(axis=1)
    ours, theirs = means[: len(treated)], means[len(treated) :]
    difference = float(abs(ours.mean() - theirs.mean()))
    pooled = math.sqrt(
        ((ours.var(ddof=1) * (len(ours) - 1)) + theirs.var(ddof=1) * (len(theirs) - 1)) / (len(means) - 2)
    )
    error = pooled * math.sqrt(1 / len(ours) + 1 / len(theirs))
    freedom = len(means) - 2
    limit = float(stdtrit(freedom, 1 - UNPAIRED_ALPHA / 2)) * error
    least = limit + float(stdtrit(freedom, POWER)) * error
    return Gate(
        name=name,
        passed=difference <= limit,
        measured=difference,
        limit=limit,
        detail=say(
            "gates.detail.unpaired",
            difference=f"{difference:.2g}",
            ours=len(ours),
            theirs=len(theirs),
            limit=f"{limit:.2g}",
        ),
        power=say("gates.power.unpaired", shift=f"{least:.2g}", power=f"{100 * POWER:.0f} %", steps=paths.shape[1]),
    )
