"""When a trial is ended from outside: too long, too much memory, too much disk."""

import os
import time
from pathlib import Path
from typing import Literal

import msgspec

from pitstop.measure.process_tree import read_pss_bytes
from pitstop.measure.sandbox.world import World
from pitstop.measure.watch import Watch
from pitstop.records import Run

__all__ = ["Exceeded", "Limits", "kernel_oom_kills", "with_kernels_verdict"]

_SIGKILLED = 128 + 9

Exceeded = Literal["timeout", "memory", "disk"]

_DISK_PERIOD_S = 0.5


class Limits:
    """Checked on every tick of a run; `exceeded` says which limit is broken, or None."""

    def __init__(
        self, *, watch: Watch, timeout_s: float | None, memory_limit_bytes: int | None, world: World | None
    ) -> None:
        self._watch = watch
        self._memory_limit_bytes = memory_limit_bytes
        self._deadline_s = time.monotonic() + timeout_s if timeout_s is not None else float("inf")
        self._world = world
        self._next_disk_s = 0.0
        self._free_at_start = self._free_bytes()

    def exceeded(self) -> Exceeded | None:
        """Return the first limit that is broken now."""
        now_s = time.monotonic()
        if now_s > self._deadline_s:
            return "timeout"
        if self._memory_limit_bytes is not None and self._memory_is_over(self._memory_limit_bytes):
            return "memory"
        if self._world is not None and now_s >= self._next_disk_s:
            self._next_disk_s = now_s + _DISK_PERIOD_S
            if self._disk_is_over(self._world):
                return "disk"
        return None

    def _memory_is_over(self, limit_bytes: int) -> bool:
        """Ask the kernel again before judging: the sum of resident sizes counts shared pages once per process."""
        latest = self._watch.latest
        if latest is None or latest.rss_bytes <= limit_bytes:
            return False
        pss = read_pss_bytes(self._watch.tree.pids)
        if pss is None:  # not ours to read, or all have just ended
            return self._watch.sample().rss_bytes > limit_bytes
        return pss > limit_bytes

    def _disk_is_over(self, world: World) -> bool:
        """Free space tells for nothing; the trial's own files are walked only once it has shrunk by the limit."""
        if self._free_at_start - self._free_bytes() <= world.plan.disk_limit_bytes // 2:
            return False
        return world.written_bytes() > world.plan.disk_limit_bytes

    def _free_bytes(self) -> int:
        if self._world is None:
            return 0
        status = os.statvfs(self._world.folder)
        return status.f_bavail * status.f_frsize


def kernel_oom_kills() -> int:
    """Return how many processes the kernel has killed for want of memory since it started."""
    rows = (line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return next((int(row[1]) for row in rows if row[0] == "oom_kill"), 0)


def with_kernels_verdict(run: Run, *, oom_kills_before: int) -> Run:
    """Return `run`, ended for its memory if it was killed by none of ours while the kernel killed processes for want of it."""
    if run.exit_code == _SIGKILLED and run.ended_by == "program" and kernel_oom_kills() > oom_kills_before:
        return msgspec.structs.replace(run, ended_by="memory", over_memory=True)
    return run
