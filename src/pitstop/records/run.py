"""A `Run`: everything observed about one execution of the user's program."""

import msgspec

from pitstop.records.events import Event
from pitstop.records.evidence import Evidence
from pitstop.records.steps import Category

__all__ = [
    "GAP_CATEGORIES",
    "EndOfRun",
    "GpuSample",
    "MemorySample",
    "ProcessEvents",
    "ProcessUsage",
    "Program",
    "Run",
    "SystemSample",
    "ThreadUsage",
    "TreeUsage",
]


# Categories of stack samples that lie in no event and yet are known to be more than Python (`pitstop.probe.sampler`).
GAP_CATEGORIES: dict[str, Category] = {
    "python/logging": "logging",  # in a library that logs
    "python/sync": "sync",  # in a call that reads from a device
    "python/host_to_device": "host_to_device",  # in a call that copies to one
}


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What the user runs: the argument vector, where, and environment changes that pitstop adds."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str] = {}  # additions only


class EndOfRun(msgspec.Struct, frozen=True, kw_only=True):
    """What the probe says when it stops the program or the program exits (`end.json`)."""

    reason: str  # "stopped" (by pitstop after N steps) or "exit"
    steps: int
    last_loss: float | None = None
    loss_finite: bool | None = None
    compiled_graphs: int = 0
    graph_breaks: int = 0
    recompiles: int = 0
    compiles_after_warmup: int = 0  # compilations begun after `warmup_steps`
    peak_device_bytes: int | None = None
    device_bytes: int | None = None  # memory of the devices used
    peak_address_bytes: int | None = None  # address space, which `ulimit -v` limits
    error: str | None = None  # the uncaught exception that ended the program, one line


class MemorySample(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The process tree at one moment, from outside."""

    time_ns: int
    rss_bytes: int
    cpu_ns: int  # CPU time used by the tree so far
    processes: int
    foreign_cpu_ns: int  # CPU time used by everybody else on the machine so far
    pss_bytes: int | None = None


class SystemSample(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the kernel has counted for the process tree so far, at one moment."""

    time_ns: int
    minor_faults: int = 0  # page faults served from memory
    major_faults: int = 0  # page faults that read from a disk
    io_wait_ns: int = 0  # threads waiting for disks; 0 as well where the kernel does not keep it (delayacct)
    read_bytes: int = 0  # from disks, not from the page cache
    written_bytes: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    shared_bytes: int = 0  # shared memory that is resident now, counted in each process that maps it


class ProcessUsage(msgspec.Struct, frozen=True, kw_only=True):
    """One process of the tree over the run."""

    pid: int
    name: str
    cpu_ns: int
    peak_rss_bytes: int


class ThreadUsage(msgspec.Struct, frozen=True, kw_only=True):
    """One thread of the tree over the run; `involuntary`: how often another one took its processor."""

    pid: int
    tid: int
    name: str
    cpu_ns: int
    involuntary: int


class GpuSample(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU at one moment, by NVML; None is what it does not say, or was not asked in this sample."""

    time_ns: int
    index: int
    name: str
    utilisation: float | None = None  # share of the time in which some kernel ran
    used_bytes: int | None = None
    total_bytes: int | None = None
    clock_mhz: int | None = None
    most_clock_mhz: int | None = None
    throttled_by: tuple[str, ...] = ()
    received_bytes_per_s: int | None = None  # over PCIe
    sent_bytes_per_s: int | None = None
    power_w: float | None = None


class TreeUsage(msgspec.Struct, frozen=True, kw_only=True):
    """CPU and memory of the process tree over the run."""

    samples: tuple[MemorySample, ...] = ()
    peak_rss_bytes: int | None = None  # of the sum over the tree
    peak_pss_bytes: int | None = None  # None where smaps_rollup cannot be read
    cpus: int = 1  # usable by the program
    throttled_ns: int | None = None  # cgroup quota throttling during the run
    system: tuple[SystemSample, ...] = ()
    processes: tuple[ProcessUsage, ...] = ()  # those with the most CPU time
    threads: tuple[ThreadUsage, ...] = ()
    gpus: tuple[GpuSample, ...] = ()


class ProcessEvents(msgspec.Struct, frozen=True, kw_only=True):
    """All events of one process, in time order."""

    pid: int
    role: str  # "main" (trains), "rank" (trains together with main), "worker" (a loader's) or "other"
    events: tuple[Event, ...]
    rank: int | None = None  # among processes that train together


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One observed execution. `exit_code` is the program's own, 128 + signal where a signal ended it."""

    program: Program
    exit_code: int
    started_ns: int
    ended_ns: int
    processes: tuple[ProcessEvents, ...]
    evidence: Evidence
    usage: TreeUsage
    end: EndOfRun | None = None  # None: the probe never said (killed, or not connected)
    timed_out: bool = False
    over_memory: bool = False  # ended for its memory, by pitstop's limit or by the kernel
    ended_by: str = "program"  # or what pitstop ended it for: "timeout", "memory", "disk"
    connected: bool = True  # the probe reported from at least one Python process
    stack_samples: tuple[
        tuple[str, int], ...
    ] = ()  # ("file:line function", samples) of the main thread, while in no known category
    faults: tuple[str, ...] = ()

    @property
    def main(self) -> ProcessEvents | None:
        """The process that trains, if one was found."""
        return next((process for process in self.processes if process.role == "main"), None)

    @property
    def ranks(self) -> tuple[ProcessEvents, ...]:
        """Every process that trains, by rank: one, or those that train together."""
        training = (process for process in self.processes if process.role in {"main", "rank"})
        return tuple(sorted(training, key=lambda process: process.rank or 0))
