"""What the search asks for, what it is told, and its options. Values only."""

from typing import Literal

import msgspec

from pitstop.records import Gate, Numerics, Trial, TrialOutcome, Verdict

__all__ = [
    "Action",
    "CheckNumerics",
    "Finish",
    "Intervene",
    "Intervention",
    "Key",
    "Length",
    "Measure",
    "MeasureLength",
    "NumericsReport",
    "Observation",
    "SearchOptions",
    "What",
]

What = Literal["cached-batch", "loader-alone"]
Key = tuple[str, ...]  # names of proposals applied together, in the order they were proposed; () is the baseline
GIB = 1 << 30


class Length(msgspec.Struct, frozen=True, kw_only=True, tag="length", tag_field="kind"):
    """How many steps the program makes: so many in all where it `ended` by itself, else so many and nobody knows how many more."""

    steps: int = 0
    ended: bool = False
    wall_ns: int = 0


class SearchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a tune promises and may cost. Defaults are DESIGN.md's."""

    margin: float = 0.02  # speed-up that counts, as a ratio above 1; 0 is allowed
    alpha: float = 0.05  # two-sided, over all finalists and looks
    power: float = 0.8
    max_finalists: int = 3
    looks: tuple[int, ...] = (4, 8, 12, 16)  # pairs per finalist at which the confirmation may end
    budget_ns: int | None = None  # wall time of trials and equivalence runs; None = no limit
    reserve_ns: int = 0  # beyond the budget, where a check and the least confirmation do not fit otherwise
    memory_share: float = 0.25  # allowed extra peak memory: this share of the baseline's ...
    memory_bytes: int = 2 * GIB  # ... or this, whichever is larger
    device_memory_share: float = 0.10
    screen_runs: int = 3  # the most times one candidate is screened while it is unclear whether it pays
    busy_repeats: int = 3  # how often in a row a trial on a busy machine is repeated
    numerics_runs: int = 6  # cost of one numerics check in trials, until one was seen
    most_trials: int = 400
    warm_steps: int = 0  # steps before the window, which `Trial.first_ns` covers
    length: Length = Length()  # what is known at the beginning
    interventions: tuple[What, ...] = ()  # that can be made in this program


class Measure(msgspec.Struct, frozen=True, kw_only=True, tag="measure", tag_field="kind"):
    """Run one trial of these proposals together. `repeat` counts earlier trials of the same set."""

    proposals: Key
    purpose: Literal["screen", "confirm"]
    repeat: int


class CheckNumerics(msgspec.Struct, frozen=True, kw_only=True, tag="check", tag_field="kind"):
    """Make the equivalence runs of these proposals together and judge them."""

    proposals: Key


class MeasureLength(msgspec.Struct, frozen=True, kw_only=True, tag="measure-length", tag_field="kind"):
    """Run the unchanged program until it has made so many steps, to see whether it does."""

    steps: int


class Intervene(msgspec.Struct, frozen=True, kw_only=True, tag="intervene", tag_field="kind"):
    """Run the unchanged program with its input cached, or its loader alone."""

    what: What


class Intervention(msgspec.Struct, frozen=True, kw_only=True, tag="intervention", tag_field="kind"):
    """What an intervention showed: the wall time of a step on a cached batch, or of a step's batches by the loader alone."""

    what: What
    outcome: TrialOutcome
    step_ns: float | None = None
    wall_ns: int = 0
    detail: str = ""


class Finish(msgspec.Struct, frozen=True, kw_only=True, tag="finish", tag_field="kind"):
    """The end. `chosen` is empty where nothing was confirmed faster: the honest zero.

    `speedup` and `ci` are the confirmed ones of `chosen` (1.0 and None without). `reason` is text in the chosen language.
    `further_pairs`: pairs that would decide the best candidate left undecided, None where there is none.
    """

    chosen: Key
    speedup: float
    ci: tuple[float, float] | None
    pairs: int
    numerics: Numerics
    gates: tuple[Gate, ...]
    verdicts: tuple[Verdict, ...]
    reason: str
    further_pairs: int | None
    trials: int
    invalid_trials: int
    spent_ns: int


class NumericsReport(msgspec.Struct, frozen=True, kw_only=True, tag="numerics", tag_field="kind"):
    """What the equivalence runs of one set of proposals said. `wall_ns` is what they cost.

    `decision` is `pitstop.tune.gates`' word where the caller has it; else every gate must have passed and none may be missing.
    """

    proposals: Key
    gates: tuple[Gate, ...]
    wall_ns: int = 0
    decision: Literal["passed", "failed", "not-made"] | None = None

    @property
    def outcome(self) -> Literal["passed", "failed", "not-made"]:
        """`decision`, or what follows from the gates."""
        if self.decision is not None:
            return self.decision
        if any(gate.passed is False for gate in self.gates):
            return "failed"
        return "passed" if self.gates and all(gate.passed for gate in self.gates) else "not-made"


Action = Measure | CheckNumerics | MeasureLength | Intervene | Finish
Observation = Trial | NumericsReport | Length | Intervention
