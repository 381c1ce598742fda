"""Processes that train together: who they are, and how all of them end at the same step.

A rank that ends alone leaves its peers in a collective that never completes. Ranks march in step (a collective per step), so they are
at most one step apart: the first one whose time is over names a step a little ahead, and everybody ends there. Having got there, each
waits for the others before it goes, because a peer may still be receiving what this process has sent.
"""

import mmap
import os
import sys
import time
from typing import Any

AHEAD_STEPS = 3  # of the first one whose time is over; one would do for ranks that meet in every step
WAIT_S = 30.0
_POLL_S = 0.002
_BYTES = 8


def identity():
    """Return (rank, number of ranks, backend) of this process; (None, 1, None) where it trains alone.

    Launchers say it in RANK and WORLD_SIZE, a process group knows it better.
    """
    module: Any = sys.modules.get("torch.distributed")
    if module is not None and module.is_available() and module.is_initialized():
        rank, size, backend = module.get_rank(), module.get_world_size(), str(module.get_backend())
        return (rank, size, backend) if size > 1 else (None, 1, backend)
    try:
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        return None, 1, None
    return (rank, size, None) if size > 1 else (None, 1, None)


class Ranks:
    """What this process agrees on with its peers, through small files in the probe folder."""

    def __init__(self, folder, on_fault, who=identity):
        self._folder = folder
        self._on_fault = on_fault
        self._who = who
        self.forget()

    def forget(self):
        """In a forked child: it may be another rank."""
        self._view: Any = None

    def is_over(self, count, due):
        """Tell whether this process ends at its step `count`; `due`: its own time is over.

        Alone it ends when it is due. Otherwise at the step agreed upon, which costs one look into shared memory.
        """
        try:
            return self._is_over(count, due)
        except Exception as error:
            self._on_fault("agree on the last step", error)
            return due

    def _is_over(self, count, due):
        view = self._view
        if view is None:
            rank, _size, backend = self._who()
            if rank is None or backend is None:  # without a process group nobody waits for anybody
                return due
            view = self._view = self._open()
        agreed = int.from_bytes(view[:_BYTES], "little")
        if agreed:
            return count >= agreed
        if due and self._claim():
            view[:_BYTES] = (count + AHEAD_STEPS).to_bytes(_BYTES, "little")
        return False

    def meet(self, wait_s=WAIT_S):
        """Wait until every rank of this machine is at its last step too, or `wait_s` are over; returns whether all came."""
        try:
            return self._meet(wait_s)
        except Exception as error:
            self._on_fault("wait for the other ranks", error)
            return False

    def _meet(self, wait_s):
        rank, size, backend = self._who()
        if rank is None or backend is None:
            return True
        size = min(size, int(os.environ.get("LOCAL_WORLD_SIZE") or size))
        place = self._path("arrived")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, str(rank)), "w", encoding="ascii"):
            pass
        until = time.monotonic() + wait_s
        while len(os.listdir(place)) < size:
            if time.monotonic() > until:
                return False
            time.sleep(_POLL_S)
        return True

    def _path(self, what):
        """Return a name for this group of ranks: a command may start one after the other."""
        return os.path.join(self._folder, "ranks-%s.%s" % (os.environ.get("MASTER_PORT", "").replace("/", "_"), what))

    def _open(self):
        descriptor = os.open(self._path("stop"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            os.posix_fallocate(descriptor, 0, mmap.PAGESIZE)  # a store into a hole of a full disk would be SIGBUS
            return mmap.mmap(descriptor, mmap.PAGESIZE)
        finally:
            os.close(descriptor)

    def _claim(self):
        """Return whether this process is the one to name the step: the first to ask."""
        try:
            os.close(os.open(self._path("claim"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
        except FileExistsError:
            return False
        return True
