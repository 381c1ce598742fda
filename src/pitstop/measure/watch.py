"""A thread in pitstop's own process that watches the program's process tree and everybody else on the machine."""

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from pitstop.measure.cgroup import read_throttled_ns
from pitstop.measure.gpu import GpuReader, open_gpus
from pitstop.measure.machine import read_machine
from pitstop.measure.process_details import ProcessDetails
from pitstop.measure.process_tree import ProcessTree, TreeReading, read_pss_bytes
from pitstop.records import GpuSample, MemorySample, SystemSample, TreeUsage

__all__ = ["Watch"]

_PERIOD_S = 0.2
_MOST_COST = 0.01  # of one core: after a sample that took t, the next comes no sooner than t / _MOST_COST
_PSS_FIRST_S = 0.5  # before that a program has hardly begun
_PSS_PERIOD_S = 2.0
_PSS_MOST_COST = 0.005
_DETAILS_PERIOD_S = 1.0
_DETAILS_MOST_COST = 0.005
_MOST_SAMPLES = 20_000  # then every second one is dropped and the period doubled
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Watch:
    """Samples the tree below `root` while the `with` block runs; `usage()` afterwards, `latest` at any time.

    `closely`: what costs more is read as well, seconds apart: switches, faults and bytes per process and thread; and the GPUs.
    """

    def __init__(self, root: int, *, launchers: int = 0, closely: bool = False) -> None:
        self.tree = ProcessTree(root, launchers=launchers)
        self.latest: MemorySample | None = None
        self._affinity = frozenset(os.sched_getaffinity(0))
        self._cpus = read_machine().cpus
        self._samples: list[MemorySample] = []
        self._details = ProcessDetails()
        self._system: list[SystemSample] = []
        self._next_details_s = time.monotonic()
        self._closely = closely
        self._gpus: GpuReader | None = None
        self._gpu_samples: list[GpuSample] = []
        self._peak_rss_bytes = 0
        self._peak_pss_bytes: int | None = None
        self._period_s = _PERIOD_S
        self._next_pss_s = time.monotonic() + _PSS_FIRST_S
        self._foreign_cpu_ns = 0
        self._busy_start_ns = _busy_ns(self._affinity)
        self._own_start_ns = time.process_time_ns()
        self._throttled_start_ns = read_throttled_ns()
        self._lock = threading.Lock()  # the tree keeps state, and `sample` is called from outside as well
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="pitstop-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        if self._gpus is not None:
            self._gpus.close()
            self._gpus = None

    def sample(self) -> MemorySample:
        """Take one sample now, besides those of the thread."""
        with self._lock:
            return self._sample()

    def usage(self, *, cpu_ns: int | None = None, peak_process_bytes: int = 0) -> TreeUsage:
        """Return what was seen. `cpu_ns` and `peak_process_bytes` are the kernel's own totals at the end, where known.

        They cover what ended between two samples: the last sample says at least `cpu_ns`, and the peak is at least
        that of the largest single process.
        """
        with self._lock:
            samples = tuple(self._samples)
        if samples and cpu_ns is not None and cpu_ns > samples[-1].cpu_ns:
            last = samples[-1]
            foreign = max(0, last.foreign_cpu_ns - (cpu_ns - last.cpu_ns))
            samples = (*samples[:-1], _sample_with(last, cpu_ns=cpu_ns, foreign_cpu_ns=foreign))
        throttled = read_throttled_ns()
        return TreeUsage(
            samples=samples,
            peak_rss_bytes=max(self._peak_rss_bytes, peak_process_bytes) or None,
            peak_pss_bytes=self._peak_pss_bytes,
            cpus=self._cpus,
            system=tuple(self._system),
            processes=self._details.processes(),
            threads=self._details.threads(),
            gpus=tuple(self._gpu_samples),
            throttled_ns=None
            if throttled is None or self._throttled_start_ns is None
            else max(0, throttled - self._throttled_start_ns),
        )

    def _work(self) -> None:
        if self._closely:
            self._gpus = open_gpus()
        while True:
            start_ns = time.thread_time_ns()
            self.sample()
            cost_s = (time.thread_time_ns() - start_ns) / 1e9
            if self._ended.wait(max(self._period_s, cost_s / _MOST_COST)):
                return

    def _sample(self) -> MemorySample:
        reading = self.tree.read()
        now_ns = time.monotonic_ns()
        ours_ns = reading.cpu_ns + reading.launcher_cpu_ns + time.process_time_ns() - self._own_start_ns
        foreign_ns = _busy_ns(self._affinity) - self._busy_start_ns - ours_ns
        self._foreign_cpu_ns = max(self._foreign_cpu_ns, foreign_ns)
        self._peak_rss_bytes = max(self._peak_rss_bytes, reading.rss_bytes)
        sample = MemorySample(
            time_ns=now_ns,
            rss_bytes=reading.rss_bytes,
            cpu_ns=reading.cpu_ns,
            processes=len(reading.pids),
            foreign_cpu_ns=self._foreign_cpu_ns,
            pss_bytes=self._pss(reading, now_ns / 1e9),
        )
        self.latest = sample
        self._samples.append(sample)
        self._read_more(reading, now_ns)
        if len(self._samples) > _MOST_SAMPLES:
            del self._samples[::2], self._system[::2], self._gpu_samples[: len(self._gpu_samples) // 2 : 2]
            self._period_s *= 2
        return sample

    def _read_more(self, reading: TreeReading, now_ns: int) -> None:
        """Read what costs more, seconds apart; the GPUs' plain values in every sample."""
        due = self._closely and bool(reading.pids) and now_ns / 1e9 >= self._next_details_s
        if self._gpus is not None:
            self._gpu_samples += self._gpus.read(now_ns, with_traffic=due)
        if due:
            start_ns = time.thread_time_ns()
            self._system.append(self._details.read(reading.pids, now_ns))
            cost_s = (time.thread_time_ns() - start_ns) / 1e9
            self._next_details_s = now_ns / 1e9 + max(_DETAILS_PERIOD_S, cost_s / _DETAILS_MOST_COST)

    def _pss(self, reading: TreeReading, now_s: float) -> int | None:
        if now_s < self._next_pss_s or not reading.pids:
            return None
        start_ns = time.thread_time_ns()
        pss = read_pss_bytes(reading.pids)
        cost_s = (time.thread_time_ns() - start_ns) / 1e9
        self._next_pss_s = now_s + max(_PSS_PERIOD_S, cost_s / _PSS_MOST_COST)
        if pss is not None:
            self._peak_pss_bytes = max(self._peak_pss_bytes or 0, pss)
        return pss


def _sample_with(sample: MemorySample, *, cpu_ns: int, foreign_cpu_ns: int) -> MemorySample:
    return MemorySample(
        time_ns=sample.time_ns,
        rss_bytes=sample.rss_bytes,
        cpu_ns=cpu_ns,
        processes=sample.processes,
        foreign_cpu_ns=foreign_cpu_ns,
        pss_bytes=sample.pss_bytes,
    )


def _busy_ns(cpus: frozenset[int]) -> int:
    """CPU time used so far on `cpus`, steal included (proc_stat(5)): all but idle and waiting for disks."""
    with Path("/proc/stat").open("rb") as file:
        rows: Sequence[list[bytes]] = [line.split() for line in file if line.startswith(b"cpu")]
    ticks = 0
    for row in rows:
        if row[0][3:].isdigit() and int(row[0][3:]) in cpus:
            user, nice, system, _, _, irq, softirq, steal = (int(value) for value in row[1:9])
            ticks += user + nice + system + irq + softirq + steal
    return ticks * _TICK_NS
