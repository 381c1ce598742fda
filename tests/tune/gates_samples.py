"""Equivalence runs made by hand for the tests of the gates."""

import msgspec
import numpy as np

from pitstop.tune.gates_material import Apart, EpochSeen, EquivalenceRun, LoaderSeen, Moments, Replayed, Update

NO_DIFFERENCE = (Update(error=0.0, floor=1e-5),)


def apart(gradient=1e-6, *, loss=1e-7, scale=1.0, tensors=(1e-6, 1e-6), cosine=1.0):
    return Apart(loss=loss, gradient=gradient, cosine=cosine, scale=scale, tensors=tensors, weights=(0.7, 0.7))


def replayed(variant="plain", *, capture=0, to_float64=None, to_capture=None, **rest):
    values = {
        "finite": True,
        "errors": (),
        "extra_fetches": 0,
        "missing_fetches": 0,
        "backwards": (1, 1),
        "losses": (1.0,),
    }
    return Replayed(
        capture=capture,
        step=capture + 1,
        variant=variant,
        to_float64=to_float64 or apart(),
        to_capture=to_capture or apart(),
        **{**values, **rest},
    )


def original_replays(*, own=1e-6, bf16=1e-2, updates=NO_DIFFERENCE):
    """One capture in every arithmetic, with the given noise of gradient and tensors."""

    def noisy(noise):
        return apart(noise, loss=noise / 10, scale=1 + noise / 10, tensors=(noise, noise))

    return (
        replayed("plain", to_float64=noisy(own), to_capture=apart(0.0), updates=updates),
        replayed("ulp", to_float64=noisy(own), to_capture=noisy(own)),
        replayed("ulp-2", to_float64=noisy(own), to_capture=noisy(own)),
        replayed("bf16", to_float64=noisy(bf16), to_capture=noisy(bf16)),
    )


def loader(*, ids=range(64), batch=8, complete=True, rows=None, number=0, moments=None, **rest):
    ids = tuple(str(one) for one in ids)
    return LoaderSeen(
        number=number,
        with_grad=len(ids) // batch,
        epochs=(EpochSeen(ids=ids, samples=len(ids), complete=complete),),
        batches=tuple(f"b{n}" for n in range(len(ids) // batch)),
        rows=(rows if rows is not None else tuple(f"v{one}" for one in ids),),
        moments=moments or (batch_moments(),),
        **{"plan_ids": "plan", "plan_samples": 64, "plan_batches": 8, "deterministic": (True,), **rest},
    )


def batch_moments(*, mean=0.0, spread=0.1, n=40, seed=0):
    """Sums over `n` batches whose means scatter by `spread` around `mean`, and whose deviations scatter around 1."""
    values = np.random.default_rng(seed).normal([mean, 1.0], spread, (n, 2))
    return Moments(n=n, sum=tuple(values.sum(0)), squares=tuple((values**2).sum(0)))


def curve(seed, *, steps=40, seed_spread=0.05, shift=0.0):
    """A falling loss; each seed scatters around it."""
    noise = np.random.default_rng(seed).normal(0, seed_spread, steps)
    return tuple((float(value),) for value in 2 * np.exp(-np.arange(steps) / 20) + noise + shift)


def run(*, seed=0, losses=None, replays=(), loaders=None, **rest):
    losses = curve(seed) if losses is None else losses
    steps = len(losses)
    values = {
        "rhythm": ((1, 1, 1, 2),) * steps,
        "settings": (((0, ({"lr": 1e-3, "betas": (0.9, 0.999)},)),),) * steps,
        "finite": all(value is not None for step in losses for value in step),
        "complete": True,
        "closure": False,
        "hash_end": "same",
        "captures": (1,),
        "faults": (),
    }
    return EquivalenceRun(
        seed_offset=seed,
        steps=steps,
        losses=losses,
        replays=replays,
        loaders=(loader(),) if loaders is None else loaders,
        **{**values, **rest},
    )


def changed(value, **rest):
    """Return a copy of a frozen value with fields replaced."""
    return msgspec.structs.replace(value, **rest)
