"""What the kernel counts for each process and thread of the program besides CPU time: faults, switches, bytes, waiting for disks.

Reads three small files per process and two per thread: seconds apart, not in every sample.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from pitstop.records import ProcessUsage, SystemSample, ThreadUsage

__all__ = ["ProcessDetails"]

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_MOST_THREADS = 512  # read per process; more are counted by none
_MOST_NAMED = 32  # kept in the result


class _Counts(msgspec.Struct):
    """The last counts of one process; they only grow, and stay when it has ended."""

    name: str = ""
    cpu_ns: int = 0
    peak_rss_bytes: int = 0
    minor_faults: int = 0
    major_faults: int = 0
    io_wait_ns: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    shared_bytes: int = 0


class _Thread(msgspec.Struct):
    name: str = ""
    cpu_ns: int = 0
    voluntary: int = 0
    involuntary: int = 0


class ProcessDetails:
    """Keeps the counts of every process and thread ever read. `proc` stands for /proc."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._processes: dict[tuple[int, int], _Counts] = {}  # by pid and start: numbers are used again
        self._threads: dict[tuple[int, int, int], _Thread] = {}

    def read(self, pids: Iterable[int], time_ns: int) -> SystemSample:
        """Read these processes now; the sums cover those that have ended as well."""
        alive: list[_Counts] = []
        for pid in pids:
            fields = self._stat(self._proc / str(pid) / "stat")
            if fields is not None:
                alive.append(self._read_process(pid, *fields))
        every, threads = self._processes.values(), self._threads.values()
        return SystemSample(
            time_ns=time_ns,
            minor_faults=sum(counts.minor_faults for counts in every),
            major_faults=sum(counts.major_faults for counts in every),
            io_wait_ns=sum(counts.io_wait_ns for counts in every),
            read_bytes=sum(counts.read_bytes for counts in every),
            written_bytes=sum(counts.written_bytes for counts in every),
            voluntary_switches=sum(thread.voluntary for thread in threads),
            involuntary_switches=sum(thread.involuntary for thread in threads),
            shared_bytes=sum(counts.shared_bytes for counts in alive),
        )

    def processes(self) -> tuple[ProcessUsage, ...]:
        """Return the processes that used the most CPU time, most first."""
        ranked = sorted(self._processes.items(), key=lambda item: (-item[1].cpu_ns, item[0]))
        return tuple(
            ProcessUsage(pid=pid, name=counts.name, cpu_ns=counts.cpu_ns, peak_rss_bytes=counts.peak_rss_bytes)
            for (pid, _start), counts in ranked[:_MOST_NAMED]
        )

    def threads(self) -> tuple[ThreadUsage, ...]:
        """Return the threads that used the most CPU time, most first."""
        ranked = sorted(self._threads.items(), key=lambda item: (-item[1].cpu_ns, item[0]))
        return tuple(
            ThreadUsage(pid=pid, tid=tid, name=thread.name, cpu_ns=thread.cpu_ns, involuntary=thread.involuntary)
            for (pid, tid, _start), thread in ranked[:_MOST_NAMED]
        )

    def _read_process(self, pid: int, name: str, fields: list[str]) -> _Counts:
        folder = self._proc / str(pid)
        counts = self._processes.setdefault((pid, int(fields[19])), _Counts())
        counts.name = name
        counts.minor_faults, counts.major_faults = int(fields[7]), int(fields[9])
        counts.cpu_ns = (int(fields[11]) + int(fields[12])) * _TICK_NS
        counts.io_wait_ns = int(fields[39]) * _TICK_NS
        moved = _table(folder / "io")
        counts.read_bytes = moved.get("read_bytes", counts.read_bytes)
        counts.written_bytes = moved.get("write_bytes", counts.written_bytes)
        status = _table(folder / "status")
        counts.shared_bytes = status.get("RssShmem", 0) * 1024
        counts.peak_rss_bytes = max(counts.peak_rss_bytes, status.get("VmHWM", 0) * 1024)
        self._read_threads(pid, folder / "task")
        return counts

    def _read_threads(self, pid: int, tasks: Path) -> None:
        try:
            names = os.listdir(tasks)  # noqa: PTH208 - as in process_tree
        except OSError:  # ended
            return
        for tid in names[:_MOST_THREADS]:
            fields = self._stat(tasks / tid / "stat")
            if fields is None:
                continue
            name, values = fields
            thread = self._threads.setdefault((pid, int(tid), int(values[19])), _Thread())
            thread.name, thread.cpu_ns = name, (int(values[11]) + int(values[12])) * _TICK_NS
            switches = _table(tasks / tid / "status")
            thread.voluntary = switches.get("voluntary_ctxt_switches", thread.voluntary)
            thread.involuntary = switches.get("nonvoluntary_ctxt_switches", thread.involuntary)

    def _stat(self, path: Path) -> tuple[str, list[str]] | None:
        """Return the name and the fields after it: [7] and [9] faults, [11] and [12] ticks, [19] start, [39] waited for disks."""
        try:
            head, _, rest = path.read_text(errors="replace").rpartition(")")
        except OSError:
            return None
        fields = rest.split()
        return (head.partition("(")[2], fields) if len(fields) > 39 else None


def _table(path: Path) -> dict[str, int]:
    """Return the whole numbers of a file of `name: number` lines; {} where it cannot be read."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        name, _, value = line.partition(":")
        words = value.split()
        if words and words[0].isdigit():
            found[name] = int(words[0])
    return found
