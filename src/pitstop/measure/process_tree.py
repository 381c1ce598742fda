"""The processes that descend from one, with their CPU time and memory, read from /proc at little cost."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

__all__ = ["ProcessTree", "TreeReading", "read_pss_bytes"]

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGESIZE")


class TreeReading(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The tree at one moment. `cpu_ns` includes children that have ended; `launcher_cpu_ns` is what pitstop's own used."""

    pids: tuple[int, ...]
    rss_bytes: int
    cpu_ns: int
    launcher_cpu_ns: int


class _Known(msgspec.Struct):
    depth: int
    start_ticks: int


class ProcessTree:
    """Follows the descendants of `root`. Those fewer than `launchers` generations down are pitstop's own and are left out.

    A process once seen stays known when its parent ends. Only processes that are new since the last reading are looked
    at for their parent, so a reading costs about as many small file reads as the tree has processes.
    """

    def __init__(self, root: int, *, launchers: int = 0) -> None:
        self._root = root
        self._launchers = launchers
        self._known: dict[int, _Known] = {}
        self._strangers: set[int] = set()
        self._cpu_ns = 0
        self.pids: tuple[int, ...] = ()  # of the last reading
        self.ever: set[int] = set()  # every pid that was part of the tree, launchers left out

    def read(self) -> TreeReading:
        """Read the tree now; a tree that has ended reads as empty, with the CPU time it had."""
        stats = self._discover()
        rss = cpu = own = 0
        pids = []
        for pid, known in list(self._known.items()):
            fields = stats.get(pid) or _stat(pid)
            if fields is None or int(fields[19]) != known.start_ticks:
                del self._known[pid]
                continue
            children_ticks = int(fields[13]) + int(fields[14])
            if known.depth < self._launchers:
                cpu += children_ticks if known.depth == self._launchers - 1 else 0
                own += int(fields[11]) + int(fields[12])
                continue
            cpu += int(fields[11]) + int(fields[12]) + children_ticks
            rss += max(0, int(fields[21]))
            pids.append(pid)
        # A child whose parent ignores SIGCHLD is counted by nobody once it ends: never go back.
        self._cpu_ns = max(self._cpu_ns, cpu * _TICK_NS)
        self.pids = tuple(pids)
        return TreeReading(
            pids=self.pids, rss_bytes=rss * _PAGE_BYTES, cpu_ns=self._cpu_ns, launcher_cpu_ns=own * _TICK_NS
        )

    def _discover(self) -> dict[int, list[bytes]]:
        """Sort processes not seen before into ours and strangers; returns the stat fields read on the way."""
        present = {int(name) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208 - 3x the cost as Path
        self._strangers &= present
        read: dict[int, list[bytes]] = {}
        unsorted = present - self._known.keys() - self._strangers
        for pid in unsorted:
            fields = _stat(pid)
            if fields is not None:
                read[pid] = fields
        if self._root in read:
            self._add(self._root, 0, read[self._root])
        remaining = {pid for pid in read if pid not in self._known}
        while True:  # a child may have a smaller number than its parent
            ours = {pid for pid in remaining if int(read[pid][1]) in self._known}
            if not ours:
                break
            for pid in ours:
                self._add(pid, self._known[int(read[pid][1])].depth + 1, read[pid])
            remaining -= ours
        self._strangers |= remaining
        return read

    def _add(self, pid: int, depth: int, fields: list[bytes]) -> None:
        self._known[pid] = _Known(depth, int(fields[19]))
        if depth >= self._launchers:
            self.ever.add(pid)


def read_pss_bytes(pids: Iterable[int]) -> int | None:
    """Return the memory of `pids` with shared pages shared out among their users; None where the kernel will not say.

    Costs about 1 ms per 100 MB mapped and holds the process's memory lock meanwhile: call it seldom.
    """
    total, readable = 0, False
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_bytes()
        except OSError:  # ended, or not ours to read
            continue
        line = next((line for line in text.splitlines() if line.startswith(b"Pss:")), None)
        if line is not None:
            total += int(line.split()[1]) * 1024
            readable = True
    return total if readable else None


def _stat(pid: int) -> list[bytes] | None:
    """Fields of /proc/<pid>/stat after the name: [0] state, [1] parent, [11..14] CPU ticks, [19] start, [21] pages."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - in the sampling loop
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None
