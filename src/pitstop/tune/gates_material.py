"""What an equivalence run leaves behind, as values: the numbers that the numerics gates judge.

The probe (`pitstop.probe.equivalence_session`) writes them; None stands for a number that is not finite or does not exist.
"""

import msgspec

__all__ = ["Apart", "EpochSeen", "EquivalenceRun", "LoaderSeen", "Moments", "Replayed", "Update"]


class Apart(msgspec.Struct, frozen=True, kw_only=True):
    """How far one step's loss and gradients are from a reference (`pitstop.probe.equivalence_compare.apart`)."""

    loss: float | None
    gradient: float | None
    cosine: float | None = None
    scale: float | None = None
    largest: float | None = None
    tensors: tuple[float | None, ...] = ()
    weights: tuple[float | None, ...] = ()


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """How far an optimizer's update is from the original's, given the same gradients and memory (both relative L2)."""

    error: float | None
    floor: float  # what rounding of the weights explains


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded step computed again, by this program and in the arithmetic named by `variant`."""

    capture: int
    step: int
    variant: str
    finite: bool
    errors: tuple[str, ...]
    extra_fetches: int
    missing_fetches: int
    backwards: tuple[int, int]  # of the recording, of this
    losses: tuple[float | None, ...]
    to_capture: Apart
    to_float64: Apart | None
    updates: tuple[Update, ...] = ()


class Moments(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over batches of per-batch features: means of each channel, then standard deviations of each."""

    n: int
    sum: tuple[float, ...]
    squares: tuple[float, ...]


class EpochSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The part of one pass over a loader that the program consumed."""

    ids: tuple[str, ...]
    samples: int
    complete: bool


class LoaderSeen(msgspec.Struct, frozen=True, kw_only=True):
    """What one loader delivered while steps were recorded."""

    number: int
    with_grad: int  # batches fetched with gradients enabled; 0 = evaluation only
    epochs: tuple[EpochSeen, ...]
    batches: tuple[str, ...]  # a hash each
    rows: tuple[tuple[str, ...], ...]  # per leaf of the batch: a hash per sample, in order
    moments: tuple[Moments, ...]
    plan_ids: str | None = None  # hash of the sorted sample ids of one whole epoch
    plan_samples: int | None = None
    plan_batches: int | None = None
    deterministic: tuple[bool, ...] | None = None  # per leaf: fetching a sample twice gives the same


class EquivalenceRun(msgspec.Struct, frozen=True, kw_only=True):
    """One equivalence run of the original or the edited program."""

    seed_offset: int
    steps: int  # recorded and replayed
    losses: tuple[tuple[float | None, ...], ...]  # per step, each value that went backward
    rhythm: tuple[
        tuple[int, int, int, int], ...
    ]  # per step: backward passes, batches, optimizer steps, gradients in those
    settings: tuple[tuple[tuple[int, tuple[dict[str, float | tuple[float, ...]], ...]], ...], ...]
    finite: bool
    complete: bool  # all steps asked for were recorded
    closure: bool  # the optimizer evaluates the loss itself (L-BFGS)
    hash_end: str | None
    loaders: tuple[LoaderSeen, ...]
    replays: tuple[Replayed, ...]
    captures: tuple[int, ...]
    faults: tuple[str, ...]
    torch: str = ""
    own_batches: bool = False  # training batches come from no loader
    crash: str | None = None  # the exception that ended the program

    def replayed(self, variant: str) -> tuple[Replayed, ...]:
        """Return the replays in one arithmetic, by capture."""
        return tuple(sorted((one for one in self.replays if one.variant == variant), key=lambda one: one.capture))

    def training_loaders(self) -> tuple[LoaderSeen, ...]:
        """Return the loaders that fed training."""
        return tuple(loader for loader in self.loaders if loader.with_grad)

    def trouble(self) -> str:
        """Return what went wrong with the program or with the probe, in their own words; "-" for nothing."""
        return "; ".join([*self.faults, *([self.crash] if self.crash else [])]) or "-"

    def in_step(self) -> bool:
        """Return whether a step's batches can be handed over anywhere in a run: they come from loaders that are watched."""
        return not self.own_batches

    def loss_per_step(self) -> tuple[float, ...]:
        """Return the mean of each step's losses, up to the first step that has none or is not finite."""
        means: list[float] = []
        for step in self.losses:
            values = [value for value in step if value is not None]
            if not values or len(values) < len(step):
                break
            means.append(sum(values) / len(values))
        return tuple(means)
