"""Trials, verdicts and the prescription: what tuning found and hands over."""

from enum import StrEnum

import msgspec

from pitstop.records.treatments import Change, Numerics

__all__ = ["Gate", "Prescription", "Trial", "TrialOutcome", "Verdict", "VerdictKind"]


class TrialOutcome(StrEnum):
    """How a trial ended; everything but MEASURED is a result too."""

    MEASURED = "measured"
    CRASHED = "crashed"
    HUNG = "hung"
    OUT_OF_MEMORY = "out-of-memory"
    NOT_FINITE = "not-finite"  # NaN or Inf loss
    TOO_FEW_STEPS = "too-few-steps"
    NOT_CONNECTED = "not-connected"
    COULD_NOT_ACT = "could-not-act"  # the change had no effect (0 graphs compiled)
    BUSY = "busy"  # the machine was busy: invalid, to be repeated


class Trial(msgspec.Struct, frozen=True, kw_only=True, tag="trial", tag_field="kind"):
    """One disposable execution of the program, treated or not, and its speed.

    `window_ns` is the wall time of the measured window of `window_steps` steps; `first_ns` the time from process start to the
    window (import, compile, warm-up).
    """

    proposals: tuple[str, ...]  # names; () is the baseline
    outcome: TrialOutcome
    window_ns: int | None = None
    window_steps: int = 0
    window_samples: int = 0
    first_ns: int | None = None
    peak_bytes: int | None = None
    peak_device_bytes: int | None = None
    compiled_graphs: int = 0
    graph_breaks: int = 0
    recompiles: int = 0
    foreign_cpu: float | None = None  # share of the machine used by others in the window
    detail: str = ""  # last line of its error output, or why it is invalid
    wall_ns: int = 0  # what it cost us

    @property
    def ns_per_step(self) -> float | None:
        """Mean wall time per step over the window."""
        return None if self.window_ns is None or not self.window_steps else self.window_ns / self.window_steps


class VerdictKind(StrEnum):
    """DESIGN.md, Statistics rules."""

    FASTER = "faster"
    EQUIVALENT = "equivalent"
    SLOWER = "slower"
    UNDECIDED = "undecided"
    UNSAFE = "unsafe"
    INVALID = "invalid"


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """One numerics check: passed, with what was compared, the measured value and its limit."""

    name: str  # "teacher-forced", "trajectory", "sample-multiset", "bit-equal", "finite"
    passed: bool | None  # None: could not be made, see detail
    measured: float | None = None
    limit: float | None = None
    detail: str = ""
    power: str = ""  # what it would have caught


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about one set of treatments. `speedup` = baseline time / treated time; `ci` None where only screened."""

    treatments: tuple[str, ...]
    numerics: Numerics
    verdict: VerdictKind
    speedup: float | None = None
    ci: tuple[float, float] | None = None
    predicted: tuple[float, float] | None = None
    pairs: int = 0
    stage: str = "screen"  # "screen" or "confirm"
    gates: tuple[Gate, ...] = ()
    extra_peak_bytes: int | None = None
    reason: str = ""


class Prescription(msgspec.Struct, frozen=True, kw_only=True):
    """The treatments that survived together, and what is handed over."""

    treatments: tuple[str, ...]
    numerics: Numerics
    change: Change
    patch: str  # unified diff, applies with `git apply` at the project root; "" where only the launch line changes
    command: tuple[str, ...]  # the launch line to use
    env: dict[str, str]
    speedup: float
    ci: tuple[float, float]
    gates: tuple[Gate, ...]
    steady_only: bool  # the window crossed no epoch edge
    break_even_steps: int | None
