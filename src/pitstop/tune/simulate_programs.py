"""Simulated training programs whose treatments act on stages of a step, as real ones do: gains overlap, mask and depend.

A step loads, computes and does the rest. Workers take the loading out of the way until it is the longer of the two, and
take CPU from the computing unless that uses fewer threads; number formats, layouts and compilers shorten the computing only.
"""

import math
from typing import ClassVar

import msgspec
import numpy as np

from pitstop.records import Numerics, Proposal
from pitstop.tune.search_actions import Key

__all__ = ["FewCores", "SimulatedProgram", "null_program", "planted_program", "random_program"]

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
                compiles=name == "compile",
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


class FewCores:
    """The landscape of the demo on two cores (docs/demo.md), where what a change brings depends on what else is there.

    A fused optimizer and kept memory pay at once; a worker, the number format and the layout pay only on top of both;
    compiling costs more than it brings. Gains are rounded from real tunes.
    """

    # in time windows of the baseline, as `simulate.Machine` takes them
    compiling: ClassVar[dict[str, float]] = {"compile": 4.0}
    check_cost = 10.0
    # time with the change / without: alone, and on top of both that pay at once
    _factors: ClassVar[dict[str, tuple[float, float]]] = {
        "worker,threads=1": (1.12, 0.81),
        "workers=2,threads=1": (1.12, 0.83),
        "worker": (1.15, 0.95),
        "evaluation-worker": (1.0, 0.985),
        "bf16": (1.0, 0.87),
        "compile": (1.04, 1.22),
        "channels-last": (1.01, 0.90),
        "threads=1": (1.3, 1.03),
    }
    _at_once: ClassVar[dict[int, float]] = {0: 1.0, 1: 0.68, 2: 0.57}

    def log_gain(self, key: Key) -> float:
        """Return log(baseline / treated) of a set: the Landscape of `simulate.Machine`."""
        there = sum(name in key for name in ("fused", "kept-memory"))
        cost = math.log(self._at_once[there])
        for name in key:
            alone, on_top = self._factors.get(name, (1.0, 1.0))
            said_already = name == "threads=1" and any(other.endswith(",threads=1") for other in key)
            cost += 0.0 if said_already else (1 - there / 2) * math.log(alone) + there / 2 * math.log(on_top)
        return -cost

    def proposals(self) -> tuple[Proposal, ...]:
        """Return what a tune of the demo is given."""
        known: tuple[tuple[str, str, float, Numerics, dict[str, int | str | bool]], ...] = (
            ("worker,threads=1", "workers", math.inf, Numerics.SAME_DISTRIBUTION, {"workers": 1, "threads": 1}),
            ("workers=2,threads=1", "workers", math.inf, Numerics.SAME_DISTRIBUTION, {"workers": 2, "threads": 1}),
            ("worker", "workers", 1.34, Numerics.SAME_DISTRIBUTION, {"workers": 1, "threads": 0}),
            ("evaluation-worker", "evaluation-worker", 1.06, Numerics.SAME_DISTRIBUTION, {}),
            ("bf16", "bf16", 1.43, Numerics.PRECISION, {}),
            ("compile", "compile", 1.43, Numerics.SAME_MATH, {}),
            ("channels-last", "channels-last", 1.43, Numerics.SAME_MATH, {}),
            ("fused", "fused", 1.58, Numerics.SAME_MATH, {}),
            ("threads=1", "threads", math.inf, Numerics.SAME_MATH, {"threads": 1}),
            ("kept-memory", "kept-memory", 2.5, Numerics.EXACT, {}),
        )
        return tuple(
            Proposal(
                name=name,
                treatment=group,
                setting=setting,
                numerics=numerics,
                ceiling=ceiling,
                group=group,
                compiles=name == "compile",
            )
            for name, group, ceiling, numerics, setting in known
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
