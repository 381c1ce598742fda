"""What the commands hand out: the structures behind `--json` and behind every report.

The keys are a promise (DESIGN.md, Result files): add freely, remove never. `docs/result-keys.txt` lists them.
"""

from typing import Any

import msgspec

from pitstop.records.steps import Category
from pitstop.records.verdicts import Gate, VerdictKind

__all__ = [
    "BaselineMemory",
    "CompareResult",
    "CompareRun",
    "ConfirmResult",
    "EnvironmentResult",
    "ErrorResult",
    "Finding",
    "FitResult",
    "FitSize",
    "GateMemory",
    "GateResult",
    "GateSide",
    "InterventionResult",
    "LedgerStretch",
    "NotMeasured",
    "Overhead",
    "Patched",
    "PeriodicWork",
    "PipelinePart",
    "PipelineResult",
    "PrescriptionResult",
    "ProfileResult",
    "ProgramResult",
    "RankResult",
    "Shadow",
    "StepStatistics",
    "TensorResult",
    "TuneResult",
    "VerdictResult",
]

SCHEMA = 1


class NotMeasured(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be measured, and why (in the chosen language)."""

    what: str
    why: str


class ProgramResult(msgspec.Struct, frozen=True, kw_only=True):
    """The command and how it ended."""

    command: tuple[str, ...]
    cwd: str
    exit_code: int
    python: str | None = None
    torch: str | None = None
    error: str | None = None  # the uncaught exception that ended it, one line, where it imported torch
    out_of_memory: bool = False


class StepStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """Wall time per steady step; `p90_ns` is None where there are too few samples for it."""

    count: int
    warmup: int
    mean_ns: int | None
    median_ns: int | None
    p90_ns: int | None
    clock: str | None = None
    micro_steps: int = 1
    samples_per_step: float | None = None
    steps_per_epoch: int | None = None


class BaselineMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Peak memory over the process tree."""

    peak_rss_bytes: int | None
    peak_device_bytes: int | None
    peak_pss_bytes: int | None = None


class Shadow(msgspec.Struct, frozen=True, kw_only=True):
    """One hot place of the program: stack samples in it, as a share of all, and the category it fell in."""

    where: str
    share: float


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A fault with its evidence and its ceiling. `ceiling_speedup` = whole / (whole - removable)."""

    fault: str
    catalogue: tuple[str, ...]
    layer: str
    share: float
    ceiling_speedup: float
    confidence: str
    evidence: tuple[str, ...]
    treatments: tuple[str, ...]
    title: str = ""
    next_action: str = ""
    owner: str = ""  # who can change it: "product", "algorithm" or "platform"
    rule_of_thumb: str = ""  # the usual line beside the measured value: a hint, the ceiling decides
    picture: str = ""  # the fault in everyday words
    question: str = ""  # what to ask the team
    reference: str = ""  # what people reported of it, with the public issue


class LedgerStretch(msgspec.Struct, frozen=True, kw_only=True):
    """The ledger of some steps that follow each other, `first_step` to `last_step` from 1; `shares` is {} where none was seen in detail."""

    first_step: int
    last_step: int
    shares: dict[Category, float]


class EnvironmentResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the program ran on, as far as it is known."""

    executable: str = ""
    processor: str | None = None
    processor_features: str | None = None  # what decides which kernels a framework picks, space-separated
    cpus: int | None = None  # by affinity and quota
    memory_bytes: int | None = None
    kernel: str | None = None
    devices: tuple[str, ...] = ()
    threads: int | None = None  # within one operation
    allocator: str | None = None
    huge_pages: str | None = None


class PeriodicWork(msgspec.Struct, frozen=True, kw_only=True):
    """Work that came back every `every` steps in the steady part: how often, and by how much it made each of those steps longer."""

    category: Category
    every: int
    times: int
    extra_ns: int
    share: float
    where: str | None = None  # the line of the program that most stack samples of the category were in


class Overhead(msgspec.Struct, frozen=True, kw_only=True):
    """What the probe itself cost; None where it was not compared with a run without it."""

    per_step_ns: int | None
    share: float | None


class RankResult(msgspec.Struct, frozen=True, kw_only=True):
    """One of several processes that train together: its mean steady step, and how much of it waits for the others."""

    rank: int
    step_ns: int
    communication_ns: int
    reductions_per_step: float | None = None  # of gradients, by DistributedDataParallel; None where it was not seen
    bytes_per_step: int | None = None  # in these


class PipelinePart(msgspec.Struct, frozen=True, kw_only=True):
    """One part of making a batch: "load" or what it is made of ("read", "decode", "tokenize", "transform", "own"), "collate", "handover"."""

    name: str
    batch_ns: int
    share: float


class TensorResult(msgspec.Struct, frozen=True, kw_only=True):
    """One tensor of a loader's batches; `padding` is None where it does not look like sequences."""

    path: str
    dtypes: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]  # the first few that differ
    fixed: bool  # one shape in all batches looked at
    padding: float | None = None


class PipelineResult(msgspec.Struct, frozen=True, kw_only=True):
    """How one training loader makes its batches: mean times over measured batches, in one worker or the main process."""

    loader: str  # file:line that made it
    num_workers: int
    measured_batches: int
    batch_ns: int
    sample_mean_ns: int | None
    sample_median_ns: int | None
    sample_p90_ns: int | None
    batch_bytes: int | None
    smallest_batch: int | None
    largest_batch: int | None
    parts: tuple[PipelinePart, ...] = ()
    tensors: tuple[TensorResult, ...] = ()
    hot: tuple[Shadow, ...] = ()  # the user's lines, as shares of the stack samples in loading


class ProfileResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `pitstop profile`, and `baseline` of `pitstop tune`."""

    schema: int
    program: ProgramResult
    steps: StepStatistics
    memory: BaselineMemory
    utilisation: dict[
        str, Any
    ]  # "cpu": mean share of the usable cores, "cpus": their number, "timeline": [[t_s, share], ...]; the rest: `pitstop.api.utilisation`
    ledger: dict[Category, float]  # shares of steady step time, sum to 1; {} where there are no steps
    findings: tuple[Finding, ...]
    not_measured: tuple[NotMeasured, ...]
    overhead: Overhead
    step_times_ns: tuple[int, ...] = ()  # one per step, warm-up included, for the plot
    periodic: tuple[PeriodicWork, ...] = ()
    hot: tuple[Shadow, ...] = ()
    ranks: tuple[RankResult, ...] = ()  # of several that train together
    pipeline: tuple[PipelineResult, ...] = ()
    run_folder: str | None = None
    wall_s: float = 0.0
    ledger_timeline: tuple[LedgerStretch, ...] = ()  # over the whole run, warm-up included; at most 60 stretches
    environment: EnvironmentResult | None = None
    ledger_median_ns: dict[
        Category, int
    ] = {}  # median per steady step that was seen in detail; they do not sum to a step
    host_ledger: dict[Category, float] | None = None  # the host's own, where `ledger` is the device's; else None
    device_busy: float | None = (
        None  # share of the steady time; an upper bound, since waiting for the next kernel counts as work
    )


class VerdictResult(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict as handed out; `reason` in the chosen language."""

    treatments: tuple[str, ...]
    numerics: str
    verdict: str
    speedup: float | None
    ci: tuple[float, float] | None
    predicted: tuple[float, float] | None
    reason: str
    stage: str = "screen"
    pairs: int = 0
    gates: tuple[Gate, ...] = ()
    extra_peak_bytes: int | None = None

    @property
    def was_tried(self) -> bool:
        """Whether a run of it came to anything: a time, or a reason why there is none."""
        return self.speedup is not None or self.verdict != VerdictKind.UNDECIDED

    def ruled_out(self, margin: float) -> bool:
        """Tell whether it was not tried because the most that it could gain is within the margin."""
        return not self.was_tried and self.predicted is not None and self.predicted[1] <= 1 + margin


class Patched(msgspec.Struct, frozen=True, kw_only=True):
    """The patched program measured by itself. `how`: "end-to-end" (no probe, whole program) or "step-clock"."""

    speedup: float
    ci: tuple[float, float]
    pairs: int
    how: str


class InterventionResult(msgspec.Struct, frozen=True, kw_only=True):
    """A throw-away run of the unchanged program with one thing taken away; `speedup` = step time / time without it.

    `what`: "cached-batch" (the input is taken away: what is left of a step) or "loader-alone" (everything but the loader is).
    """

    what: str
    speedup: float | None
    outcome: str
    reason: str = ""


class PrescriptionResult(msgspec.Struct, frozen=True, kw_only=True):
    """What is handed over; `treatments` is empty where nothing helped (the honest zero)."""

    treatments: tuple[str, ...]
    speedup: float
    ci: tuple[float, float] | None
    equivalence: tuple[Gate, ...]
    patch: str | None  # path of the diff file, None without source edits
    patched: Patched | None
    break_even_steps: int | None
    diff: str = ""
    command: tuple[str, ...] = ()  # the launch line to use
    env: dict[str, str] = {}
    numerics: str = "exact"
    steady_only: bool = False
    explanations: dict[str, str] = {}  # treatment -> what the change does, in the chosen language


class ConfirmResult(msgspec.Struct, frozen=True, kw_only=True):
    """Original and patched run to their own end (`tune --confirm`): wall times and the user's metric over seeds."""

    pairs: int
    speedup: float
    ci: tuple[float, float] | None
    metric_name: str | None = None
    metric_original: tuple[float, ...] = ()
    metric_patched: tuple[float, ...] = ()


class FitSize(msgspec.Struct, frozen=True, kw_only=True):
    """One batch size as it was tried. `outcome`: "fits", "tight", "out-of-memory" or "failed"; `ns_per_sample` over `runs` timed runs."""

    batch: int
    accumulate: int
    outcome: str
    peak_bytes: int | None
    peak_device_bytes: int | None
    ns_per_sample: float | None
    runs: int
    lifted: bool = False  # ran without the memory limit
    detail: str = ""


class FitResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `pitstop fit`. `batch` None: no size fits. `speedup` is the own batch's time per sample / that of the choice."""

    schema: int
    program: ProgramResult
    own_batch: int
    own_fits: bool
    batch: int | None
    accumulate: int
    limit: str  # "address-space", "control-group" or "machine"
    limit_bytes: int
    sizes: tuple[FitSize, ...]
    numerics: str
    numerics_reason: str
    check: Gate | None
    speedup: float | None
    ci: tuple[float, float] | None
    own_lifted: bool
    rival: int | None
    rival_verdict: str | None
    rival_speedup: float | None
    rival_ci: tuple[float, float] | None
    to_the_end: bool | None  # the changed program ran to its own end under the limit; None: not made
    reason: str
    diff: str
    patch: str | None
    command: tuple[str, ...]
    env: dict[str, str]
    suggestion: str  # what to write by hand where the source could not be edited
    not_measured: tuple[NotMeasured, ...]
    wall_s: float
    trials: int
    sandbox: str
    run_folder: str | None


class ErrorResult(msgspec.Struct, frozen=True, kw_only=True):
    """In the place of a result where there is none: `error` is the message's key, `message` its text in the chosen language."""

    schema: int
    error: str
    message: str
    exit_code: int


class TuneResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `pitstop tune`."""

    schema: int
    baseline: ProfileResult
    verdicts: tuple[VerdictResult, ...]
    prescription: PrescriptionResult
    wall_s: float
    trials: int
    cannot_apply: dict[str, str] = {}  # treatment -> why
    sandbox: str = ""  # what protected the user's files in the trials, as text
    confirm: ConfirmResult | None = None
    run_folder: str | None = None
    not_measured: tuple[NotMeasured, ...] = ()
    invalid_trials: int = 0
    reason: str = ""  # why the search ended as it did, in the chosen language
    tolerate_load: bool = False  # trials on a busy machine counted too
    interventions: tuple[InterventionResult, ...] = ()
    margin: float = 0.02  # a speed-up has to clear 1 + margin to count (DESIGN.md, Statistics rules)

    @property
    def nothing_measured(self) -> bool:
        """Whether there was something to try, and none of it was."""
        possible = [verdict for verdict in self.verdicts if not verdict.ruled_out(self.margin)]
        return bool(possible) and not any(verdict.was_tried for verdict in possible)


class GateSide(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two versions that a gate compares; times are of this machine, and no result by themselves."""

    commit: str | None  # None: the working tree as it is
    title: str
    step_ns: int | None  # mean over its valid timing runs
    ledger_ns: dict[Category, int] = {}  # nanoseconds per steady step in one observed run
    peak_bytes: int | None = None
    peak_device_bytes: int | None = None


class GateMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Peak memory of the head as a multiple of the base's, over the same pairs; `worse`: above the margin with certainty."""

    of: str  # "process-tree" or "device"
    ratio: float
    ci: tuple[float, float]
    margin: float
    worse: bool


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `pitstop gate`. `speedup` is base time / head time: below 1 where the head is slower."""

    schema: int
    command: tuple[str, ...]
    cwd: str
    base: GateSide
    head: GateSide
    differing: tuple[str, ...]  # paths from the root of the repository
    caveats: tuple[str, ...]
    verdict: str  # of the head: faster, equivalent, slower, undecided
    speedup: float
    ci: tuple[float, float]
    pairs: int
    further_pairs: int | None  # that would decide; 0 where decided, None where no sensible number would
    detectable: float | None  # the least slowdown (head time / base time) that would have been found
    margin: float
    memory: tuple[GateMemory, ...]
    passed: bool
    strict: bool
    invalid_trials: int
    trials: int
    wall_s: float
    sandbox: str
    run_folder: str | None = None
    by_sample: bool = False  # compared per sample, else per step


class CompareRun(msgspec.Struct, frozen=True, kw_only=True):
    """One of two stored runs, as far as it can be laid beside the other."""

    run_folder: str
    command: tuple[str, ...]
    torch: str | None
    step_ns: int | None
    samples_per_step: float | None
    ledger_ns: dict[Category, int]  # nanoseconds per steady step
    peak_bytes: int | None
    findings: tuple[str, ...]
    environment: EnvironmentResult | None = None
    steps: int | None = None  # steady ones that the times are of
    median_ns: int | None = None
    p90_ns: int | None = None


class CompareResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `pitstop compare A B`. `ratio` is time of A / time of B, of two runs at different times: no claim."""

    schema: int
    a: CompareRun
    b: CompareRun
    ratio: float | None
    by_sample: bool
    differences: tuple[str, ...]  # of what they ran on and with, in the chosen language
