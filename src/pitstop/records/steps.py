"""Steps and the ledger: where the wall time of a run went."""

from typing import Literal

import msgspec

__all__ = ["CATEGORIES", "Category", "Ledger", "LoaderRoles", "StepClock", "Steps"]

Category = Literal[
    "data_wait",
    "host_to_device",
    "forward",
    "backward",
    "optimizer",
    "communication",
    "sync",
    "compile",
    "gc",
    "checkpoint",
    "evaluation",
    "logging",
    "python",
    "unknown",
]
CATEGORIES: tuple[Category, ...] = Category.__args__  # type: ignore[attr-defined]

StepClock = Literal["step", "optimizer", "backward", "forward", "fetch"]


class Steps(msgspec.Struct, frozen=True, kw_only=True):
    """Step boundaries of one run: step i is (ends_ns[i-1], ends_ns[i]], and step 0 starts at `start_ns`."""

    clock: StepClock  # what ends a step in this program
    start_ns: int
    ends_ns: tuple[int, ...]
    samples: tuple[int, ...]  # samples consumed per step; all 0 where unknown
    micro_steps: int = 1  # backward passes per step
    epoch_edges: tuple[int, ...] = ()  # index of the first step of each epoch after the first
    warmup: int = 0  # steps at the start that are not steady

    @property
    def count(self) -> int:
        """Number of whole steps."""
        return len(self.ends_ns)

    @property
    def stretches(self) -> tuple[tuple[int, int], ...]:
        """Start and end of every step, in nanoseconds."""
        return tuple(zip((self.start_ns, *self.ends_ns[:-1]), self.ends_ns, strict=True))

    @property
    def steady_mean_ns(self) -> float:
        """Mean wall time of a step after the warm-up; of all steps where nothing else is left."""
        warmup = self.warmup if self.warmup < self.count else 0
        start_ns = self.ends_ns[warmup - 1] if warmup else self.start_ns
        return (self.ends_ns[-1] - start_ns) / (self.count - warmup) if self.count else 0.0


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """Wall nanoseconds of the steady steps by exclusive category; they sum to `wall_ns` exactly."""

    wall_ns: int
    steps: int
    categories_ns: dict[str, int]  # every Category is a key

    @classmethod
    def of_nothing(cls) -> "Ledger":
        """Return the ledger of a run without a steady step."""
        return cls(wall_ns=0, steps=0, categories_ns={str(name): 0 for name in CATEGORIES})

    def share(self, category: Category) -> float:
        """Share of the wall time in `category`, 0 to 1; 0 for a ledger of no time."""
        return self.categories_ns[category] / self.wall_ns if self.wall_ns else 0.0


class LoaderRoles(msgspec.Struct, frozen=True, kw_only=True):
    """Which loader ids feed training and which only feed evaluation."""

    training: frozenset[int] = frozenset()
    evaluation: frozenset[int] = frozenset()
