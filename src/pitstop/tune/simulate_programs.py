"""Simulated training programs whose treatments act on stages of a step, as real ones do: gains overlap, mask and depend.

A step loads, computes and does the rest. Workers take the loading out of the way until it is the longer of the two, and
take CPU from the computing unless that uses fewer threads; number formats, layouts and compilers shorten the computing only.
"""

import math

import msgspec
import numpy as np

from pitstop.records import Numerics, Proposal
from pitstop.tune.search_actions import Key

__all__ = ["SimulatedProgram", "null_program", "planted_program", "random_program"]

_WORKERS = {"workers=1": 1, "workers=2": 2, "workers=4": 4}
_OTHERS = (
    ("bf16", "bf16", Numerics.PRECISION),
    ("compile", "compile", Numerics.SAME_MATH),
    ("channels-last", "channels-last", Numerics.SAME_MATH),
    ("fused-adam", "fused-adam", Numerics.SAME_MATH),
    ("threads=1", "threads", Numerics.SAME_MATH),
    ("threads=2", "threads", Numerics.SAME_MATH),
)


class SimulatedProgram(msgspec.Struct, frozen=True, kw_only=True):
    """Times of one step, in any unit, and the factors on them by treatment; `planted` gains multiply on top."""

    load: float
    compute: float
    rest: float
    factors: dict[str, float]  # on computing
    rest_factors: dict[str, float]  # on the rest
    contention: float = 0.0  # each worker beyond the first slows computing by this, a fifth of it with one thread
    planted: dict[str, float] = {}
    ceilings_known: bool = True

    def log_gain(self, key: Key) -> float:
        """Return log(baseline / treated) of a set: the Landscape of `simulate.Machine`."""
        return math.log(self._step(())) - math.log(self._step(key)) + sum(self.planted.get(name, 0.0) for name in key)

    def proposals(self) -> tuple[Proposal, ...]:
        """Return what a tune would be given, with Amdahl's ceilings from the true shares."""
        ladders = [(name, "workers", Numerics.SAME_DISTRIBUTION, self.load) for name in _WORKERS]
        for name, group, numerics in _OTHERS:
            removable = (self.compute if name in self.factors else 0.0) + (
                self.rest if name in self.rest_factors else 0.0
            )
            ladders.append((name, group, numerics, removable or self.compute))
        whole = self.load + self.compute + self.rest
        return tuple(
            Proposal(
                name=name,
                treatment=group,
                setting={},
                numerics=numerics,
                ceiling=math.inf if removable >= whole or not self.ceilings_known else whole / (whole - removable),
                group=group,
            )
            for name, group, numerics, removable in ladders
        )

    def _step(self, key: Key) -> float:
        compute, rest = self.compute, self.rest
        for name in key:
            compute *= self.factors.get(name, 1.0)
            rest *= self.rest_factors.get(name, 1.0)
        workers = max((_WORKERS.get(name, 0) for name in key), default=0)
        if not workers:
            return self.load + compute + rest
        taken = self.contention * (workers - 1) * (0.2 if "threads=1" in key else 1.0)
        return max(1.05 * self.load / workers, compute * (1 + taken) + rest) + 0.01 * (
            self.load + self.compute + self.rest
        )


def random_program(rng: np.random.Generator) -> SimulatedProgram:
    """Return a program of random shares and random effects, many of them none or harmful."""
    load, compute, rest = (float(share) for share in rng.dirichlet([1.0, 1.0, 0.5]))
    compiled = float(rng.choice([1.0, 0.95, 0.8, 1.1]))
    factors = {
        "bf16": float(rng.choice([1.0, 1.0, 0.6, 0.8, 1.3])),
        "compile": compiled,
        "channels-last": float(rng.choice([1.0, 1.0, 0.9, 1.05])),
        "threads=1": float(rng.choice([1.0, 1.3, 0.9])),
        "threads=2": float(rng.choice([1.0, 1.02])),
    }
    rest_factors = {"fused-adam": float(rng.choice([1.0, 0.99, 0.95])), "compile": 0.8 if compiled < 1 else 1.0}
    return SimulatedProgram(
        load=load, compute=compute, rest=rest, factors=factors, rest_factors=rest_factors, contention=0.15
    )


def null_program() -> SimulatedProgram:
    """Return a program that nothing makes faster or slower: every tune of it is A against A."""
    return planted_program({})


def planted_program(gains: dict[str, float]) -> SimulatedProgram:
    """Return a program where exactly these treatments multiply the speed by these factors, independently."""
    names = [*_WORKERS, *(name for name, _, _ in _OTHERS)]
    if unknown := set(gains) - set(names):
        raise ValueError(f"no such simulated treatment: {sorted(unknown)}")
    planted = {name: math.log(gain) for name, gain in gains.items()}
    # workers without an effect of their own: nothing to load, and their 1 % of overhead taken back
    offset = {name: math.log(1.01) for name in _WORKERS}
    return SimulatedProgram(
        load=0.0,
        compute=0.8,
        rest=0.2,
        factors={name: 1.0 for name, _, _ in _OTHERS},
        rest_factors={},
        ceilings_known=False,
        planted={name: planted.get(name, 0.0) + offset.get(name, 0.0) for name in names},
    )
