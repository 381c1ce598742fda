"""What the probe saw of a program besides times: who made which loader, optimizer, module, and where in the source.

`Sighting`s are what treatments act on. An id is given by the probe, counts from 1 within a kind, and is the `arg` of events.
"""

from typing import Any, Literal

import msgspec

__all__ = [
    "AnomalySighting",
    "ArgparseOption",
    "BackwardSighting",
    "CallSighting",
    "CensusSighting",
    "CollectiveSighting",
    "DataParallelSighting",
    "DenormalSighting",
    "DrainedLoader",
    "EnvironmentSighting",
    "Evidence",
    "ForwardSighting",
    "GraphBreak",
    "KeptGraphs",
    "LeafCensus",
    "LoaderSighting",
    "ModuleNames",
    "OptimizerSighting",
    "PipelineSighting",
    "ProbeFault",
    "Recompile",
    "SettingsSighting",
    "Sighting",
    "Site",
]


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """One place in the user's source: the expression (usually a call) that a frame was executing.

    Lines count from 1. Columns are UTF-8 byte offsets from 0, as `co_positions()` gives them, and None before
    Python 3.11, which knows lines only.
    """

    path: str  # absolute
    line: int
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None
    function: str = "<module>"  # co_qualname where known, else co_name
    frame: int = 0  # the same number for the same live frame (id), to find the common caller of two sites


class LoaderSighting(msgspec.Struct, frozen=True, kw_only=True, tag="loader", tag_field="kind"):
    """One DataLoader as it was constructed and used. `stack` is outermost first, user frames only; [-1] constructed it."""

    id: int
    stack: tuple[Site, ...]
    num_workers: int
    batch_size: int | None
    prefetch_factor: int | None
    persistent_workers: bool
    pin_memory: bool
    multiprocessing_context: str | None
    dataset_class: str  # module-qualified
    dataset_len: int | None
    iterable: bool  # an IterableDataset
    sampler_class: str | None
    loader_class: str = "torch.utils.data.dataloader.DataLoader"
    library: str | None = None  # the package that [-1] called to have it made, None where the user's code made it


class OptimizerSighting(msgspec.Struct, frozen=True, kw_only=True, tag="optimizer", tag_field="kind"):
    """One torch optimizer. `modules` maps an expression valid in the constructing frame ("model", "self.net") to a module id."""

    id: int
    stack: tuple[Site, ...]
    optimizer_class: str  # module-qualified, e.g. "torch.optim.adamw.AdamW"
    num_tensors: int
    num_elements: int
    fused: bool | None
    foreach: bool | None
    modules: dict[str, int] = {}
    devices: tuple[str, ...] = ()  # of its parameters, e.g. ("cpu",) or ("cuda:0",)
    library: str | None = None  # as in LoaderSighting


class ForwardSighting(msgspec.Struct, frozen=True, kw_only=True, tag="forward", tag_field="kind"):
    """One outermost module, at the first call from each distinct source position (training and evaluation differ in `training`)."""

    id: int  # module id
    stack: tuple[Site, ...]
    module_class: str  # module-qualified
    training: bool
    grad_enabled: bool
    forward_in_torch: bool  # its forward() is defined inside torch, e.g. nn.Sequential
    num_parameters: int
    parameter_dtypes: tuple[str, ...]
    device: str
    num_conv: int  # Conv2d and Conv3d and their transposes
    num_batchnorm: int
    num_dropout: int
    num_rnn: int
    sparse_embedding: bool
    input_shapes: tuple[tuple[int, ...], ...]
    channels_last: bool  # a 4-d parameter is already channels_last
    compiled: bool  # already under torch.compile
    autocast: str | None  # autocast dtype already active at the call
    traced: bool  # a ScriptModule


class BackwardSighting(msgspec.Struct, frozen=True, kw_only=True, tag="backward", tag_field="kind"):
    """The first backward from each distinct source position."""

    id: int
    stack: tuple[Site, ...]
    create_graph: bool  # double backward
    retain_graph: bool
    operations: int | None = (
        None  # differentiable ones behind the loss; None where it has no graph or one too large to walk
    )
    parameters: int | None = None  # tensors at the leaves of that graph
    library: str | None = None  # the package that [-1] called to have it run, None where the user's code calls it


class AnomalySighting(msgspec.Struct, frozen=True, kw_only=True, tag="anomaly", tag_field="kind"):
    """A place where the program switches autograd's anomaly detection on."""

    id: int
    stack: tuple[Site, ...]
    function: str  # "set_detect_anomaly" or "detect_anomaly"


class CallSighting(msgspec.Struct, frozen=True, kw_only=True, tag="calls", tag_field="kind"):
    """What one place of the program called how often after its first step: known slow functions, and `steps` meanwhile."""

    id: int
    function: str  # "gc.collect", "torch.cuda.synchronize", "SummaryWriter.add_scalar", ...
    stack: tuple[Site, ...]
    calls: int
    total_ns: int
    steps: int

    @property
    def per_step(self) -> float:
        """Calls per step."""
        return self.calls / self.steps

    @property
    def step_ns(self) -> float:
        """Nanoseconds per step."""
        return self.total_ns / self.steps


class GraphBreak(msgspec.Struct, frozen=True, kw_only=True, tag="graph_break", tag_field="kind"):
    """A place at which torch.compile ended a graph, and its reason in one line; `stack` holds that place only."""

    id: int
    stack: tuple[Site, ...]
    reason: str
    count: int  # compilations that met it


class Recompile(msgspec.Struct, frozen=True, kw_only=True, tag="recompile", tag_field="kind"):
    """A function that torch.compile compiled again: the last guard that failed, and how many did."""

    id: int
    stack: tuple[Site, ...]
    reason: str
    count: int


class DenormalSighting(msgspec.Struct, frozen=True, kw_only=True, tag="denormals", tag_field="kind"):
    """How many of some numbers read after so many steps were denormal."""

    of: str  # "parameters", "gradients" or "optimizer state"
    step: int
    numbers: int
    denormal: int


class KeptGraphs(msgspec.Struct, frozen=True, kw_only=True, tag="kept_graphs", tag_field="kind"):
    """What was alive after so many steps: tensors that hold a graph, and the longest chain of sums behind a scalar."""

    step: int
    tensors: int
    chain: int


class DataParallelSighting(msgspec.Struct, frozen=True, kw_only=True, tag="data_parallel", tag_field="kind"):
    """One DistributedDataParallel as it was constructed, and what its own log says once it has run (None before)."""

    id: int
    stack: tuple[Site, ...]
    module_class: str
    device: str
    find_unused_parameters: bool
    static_graph: bool
    gradient_as_bucket_view: bool
    bucket_cap_bytes: int
    parameter_bytes: int
    buckets: int | None = None
    unused_bytes: int | None = None  # most that an iteration found unused; None where it does not look
    backwards: int = 0  # looked at
    reduced: int = 0  # of these, ended in a reduction of the gradients


class CollectiveSighting(msgspec.Struct, frozen=True, kw_only=True, tag="collective", tag_field="kind"):
    """A place where the program itself calls a collective operation, or waits for one."""

    id: int
    stack: tuple[Site, ...]
    function: str


class ArgparseOption(msgspec.Struct, frozen=True, kw_only=True, tag="argparse", tag_field="kind"):
    """One setting of this run that the launch line can change: an option of the program's own argparse parser, or a key of its configuration."""

    dest: str
    flags: tuple[str, ...]  # ("--workers", "-j")
    value: Any
    takes_value: bool
    default: Any = None
    style: Literal["option", "override"] = "option"  # `--flag value`, or `key=value` as Hydra takes it


class SettingsSighting(msgspec.Struct, frozen=True, kw_only=True, tag="settings", tag_field="kind"):
    """An object that holds a training framework's settings; [-1] of `stack` had it made."""

    id: int
    framework: str  # top-level package
    class_name: str
    stack: tuple[Site, ...]
    values: dict[str, Any] = {}


class EnvironmentSighting(msgspec.Struct, frozen=True, kw_only=True, tag="environment", tag_field="kind"):
    """The process that trains, seen once."""

    pid: int
    python: str  # "3.11.7"
    executable: str
    argv: tuple[str, ...]
    script: str | None  # absolute path of the main script, None for -c
    main_guard: bool  # the main script has `if __name__ == "__main__"`
    torch: str | None
    cuda: bool
    device_names: tuple[str, ...]
    intra_op_threads: int | None
    inter_op_threads: int | None
    affinity_cpus: int
    cpu_capability: str | None
    start_method: str | None  # multiprocessing
    rank: int | None = None  # among processes that train together; None: it trains alone
    ranks: int = 1  # how many these are
    collectives: str | None = None  # backend of the process group ("gloo"), None without one
    allocator: str | None = (
        None  # "glibc 2.36", or the library that took malloc's place ("jemalloc"); None if not known
    )
    allocator_settings: tuple[str, ...] = ()  # names of the environment variables that tune it already
    page_faults_per_step: float | None = None  # of this process, served without reading; None before they were counted
    anomaly_detection: bool = False  # torch.autograd's
    tracer: str | None = None  # what sys.settrace or sys.setprofile of the training thread calls
    deterministic: bool = False  # torch.use_deterministic_algorithms
    cudnn_benchmark: bool | None = None  # None: this torch does not say
    cudnn_deterministic: bool | None = None
    allow_tf32: bool | None = None
    matmul_precision: str | None = None  # "highest", "high" or "medium"
    flushes_denormals: bool | None = None
    cpu_flags: tuple[str, ...] = ()  # features for lower precision, as /proc/cpuinfo names them
    device_capabilities: tuple[tuple[int, int], ...] = ()  # of the CUDA devices in `device_names`
    device_allocator_settings: tuple[str, ...] = ()  # names of the variables that tune torch's CUDA allocator
    loadable_allocators: tuple[str, ...] = ()  # paths of libraries that could take malloc's place
    preloads: bool = False  # LD_PRELOAD is set
    huge_pages: str | None = (
        None  # the kernel's transparent huge pages: "always", "madvise" or "never"; None if not known
    )


class DrainedLoader(msgspec.Struct, frozen=True, kw_only=True, tag="drained", tag_field="kind"):
    """A loader was emptied with nothing else going on: so many batches in so much wall time."""

    loader: int
    batches: int
    wall_ns: int


class PipelineSighting(msgspec.Struct, frozen=True, kw_only=True, tag="pipeline", tag_field="kind"):
    """What some measured batches of one loader were made of, in one process; sums, so that processes can be added up.

    A worker does not know its loader's id: `seed` is what the value of the loader's LOADER_ITER event is.
    """

    loader: int
    seed: int = 0
    worker: int | None = None  # None: the main process
    processes: int = 1  # that these sums are of
    batches: int = 0
    samples: int = 0
    load_ns: int = 0  # in dataset[i], dataset.__getitems__ or next(iterator)
    collate_ns: int = 0
    handovers: int = 0  # batches pickled for the main process, tensors moved to shared memory
    handover_ns: int = 0
    whole_batches: bool = False  # the dataset is asked for many samples at once
    sample_times_ns: tuple[int, ...] = ()
    collate: str = "?"  # the collate function, module-qualified
    wall_ns: int = 0  # of the fetches, and meanwhile:
    cpu_ns: int = 0  # processor time of the whole process
    thread_cpu_ns: int = 0  # of the thread that fetches
    queued_ns: int = 0  # it was ready and had no processor
    shared_free_bytes: int | None = None  # of /dev/shm, at the least
    shared_total_bytes: int | None = None


class LeafCensus(msgspec.Struct, frozen=True, kw_only=True):
    """One tensor of a loader's batches. `padded` of `places` are padding; both 0 where it cannot be sequences."""

    path: str  # "[0]", "['input_ids']", "" for a batch that is a tensor itself
    dtypes: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]  # the first few that differ
    places: int = 0
    padded: int = 0

    @property
    def padding(self) -> float:
        """Share of padding, 0 to 1."""
        return self.padded / self.places if self.places else 0.0


class CensusSighting(msgspec.Struct, frozen=True, kw_only=True, tag="census", tag_field="kind"):
    """What the first batches of one loader looked like, in one process."""

    loader: int
    seed: int = 0
    worker: int | None = None
    batches: int = 0
    batch_bytes: int = 0  # of all these batches' tensors
    smallest: int | None = None  # samples in a batch
    largest: int | None = None
    leaves: tuple[LeafCensus, ...] = ()


class ProbeFault(msgspec.Struct, frozen=True, kw_only=True, tag="probe_fault", tag_field="kind"):
    """The probe caught its own error and went on: what it was doing and what happened."""

    where: str
    error: str


class ModuleNames(msgspec.Struct, frozen=True, kw_only=True, tag="module_names", tag_field="kind"):
    """Later knowledge about an optimizer's frame: which names there are which outermost module (ids are known at first forward)."""

    optimizer: int
    modules: dict[str, int]


Sighting = (
    LoaderSighting
    | OptimizerSighting
    | ForwardSighting
    | BackwardSighting
    | AnomalySighting
    | CallSighting
    | GraphBreak
    | Recompile
    | DenormalSighting
    | KeptGraphs
    | DataParallelSighting
    | CollectiveSighting
    | ArgparseOption
    | SettingsSighting
    | EnvironmentSighting
    | DrainedLoader
    | PipelineSighting
    | CensusSighting
    | ProbeFault
    | ModuleNames
)


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the probe saw in the training process, with `project_root` (files below it are the user's to patch)."""

    project_root: str
    environment: EnvironmentSighting | None = None
    loaders: tuple[LoaderSighting, ...] = ()
    optimizers: tuple[OptimizerSighting, ...] = ()
    forwards: tuple[ForwardSighting, ...] = ()
    backwards: tuple[BackwardSighting, ...] = ()
    anomalies: tuple[AnomalySighting, ...] = ()
    calls: tuple[CallSighting, ...] = ()
    graph_breaks: tuple[GraphBreak, ...] = ()
    recompiles: tuple[Recompile, ...] = ()
    denormals: tuple[DenormalSighting, ...] = ()
    kept_graphs: tuple[KeptGraphs, ...] = ()
    data_parallel: tuple[DataParallelSighting, ...] = ()
    collectives: tuple[CollectiveSighting, ...] = ()
    options: tuple[ArgparseOption, ...] = ()
    settings: tuple[SettingsSighting, ...] = ()
    drained: tuple[DrainedLoader, ...] = ()  # of a run that an intervention asked for
    pipelines: tuple[PipelineSighting, ...] = ()  # one per loader, all its processes together
    census: tuple[CensusSighting, ...] = ()  # one per loader
    faults: tuple[ProbeFault, ...] = ()
