"""The event file: 32-byte records in a sparse memory-mapped file, so that kill -9 loses nothing and a record costs <= 0.3 us.

Space is allocated on the disk before it is written, because a store into a hole of a full disk is SIGBUS, the end of the
user's program. No file descriptor is kept: programs close descriptors that they do not know, and the number could then
name a file of theirs.
"""

import itertools
import mmap
import os
import struct
import sys
import threading
import time
from _thread import get_ident
from typing import Any

MAGIC = b"PITSTOP1"
HEADER = struct.Struct("<8sIIQ40x")
RECORD = struct.Struct("<BBHIqqq")

FETCH = 1
FORWARD = 2
BACKWARD = 3
OPTIMIZER = 4
LOADER_ITER = 5
EPOCH_END = 6
GC = 7
CHECKPOINT = 8
COMPILE = 9
SYNC = 10
HOST_TO_DEVICE = 11
WORKER_FETCH = 12
ZERO_GRAD = 13
MARK = 14
STEP = 15

ROLE_PROGRAM = 1
ROLE_WORKER = 2

CAPACITY_BYTES = 256 << 20  # 8 million records; address space, not disk
CHUNK_BYTES = 256 << 10  # disk space is taken in pieces of this size
_MAX_THREAD = 0xFFFF


class _ThreadNumbers(dict):
    """Thread ident -> small number; the thread that is asked for first is not special, `main` is 0."""

    def __init__(self, main):
        super().__init__()
        self[main] = 0

    def __missing__(self, ident):
        number = self[ident] = min(len(self), _MAX_THREAD)
        return number


class Recorder:
    """Writes events of this process.

    `record(kind, arg, start_ns, end_ns, value=0, flags=0)` appends one event, times by `time.monotonic_ns()`; it may be called
    from any thread, and never raises. `on_fault(where, error)` is told once when recording has to end: the file is full, or
    the disk is.
    """

    def __init__(self, folder, on_fault, capacity_bytes=CAPACITY_BYTES):
        self.folder = folder
        self._on_fault = on_fault
        self._capacity = capacity_bytes
        self._retired: list = []
        self._view: Any = None
        self.record, self._configure = self._make_record()
        self._start_over()

    def _start_over(self):
        self.role = ROLE_PROGRAM
        self.stem = "%d-%d" % (os.getpid(), time.monotonic_ns())
        self.path: Any = None
        self._limit = 0  # bytes of the file that may be written
        self._lock = threading.RLock()
        self._busy = False
        self._stopped = False
        numbers = _ThreadNumbers(threading.main_thread().ident)
        self._configure(None, 0, itertools.count(HEADER.size, RECORD.size).__next__, numbers)

    def _make_record(self):
        """Return `record` and what sets its variables: in a closure they cost a third less than as attributes."""
        pack, make_room, on_fault = RECORD.pack_into, self._make_room, self._on_fault
        view: Any = None
        threads: dict = {}
        limit, reserve = 0, itertools.count().__next__

        def record(kind, arg, start_ns, end_ns, value=0, flags=0):  # noqa: PLR0917 - keywords cost time here
            try:
                offset = reserve()
                if offset >= limit and not make_room(offset):
                    return
                pack(view, offset, kind, flags, threads[get_ident()], arg, start_ns, end_ns, value)
            except Exception as error:
                on_fault("recorder.record", error)

        def configure(new_view, new_limit, new_reserve=None, new_threads=None):
            nonlocal view, limit, reserve, threads
            view, limit = new_view, new_limit
            reserve, threads = new_reserve or reserve, new_threads or threads

        return record, configure

    def after_fork(self):
        """Forget the parent's file in a forked child; the child's own is opened at its first event."""
        # Its mapping is kept alive on purpose: closing it would close a descriptor number that may be the user's by now.
        self._retired.append(self._view)
        self._view = None
        self._start_over()

    @property
    def is_open(self):
        """True once this process has recorded something."""
        return self._view is not None

    def be_worker(self):
        """Say in the header that this is a loader's worker process."""
        self.role = ROLE_WORKER
        if self._view is not None:
            HEADER.pack_into(self._view, 0, MAGIC, RECORD.size, self.role, os.getpid())

    def close(self):
        """Stop recording and give back the unused part of the file."""
        self._stopped = True
        if self.path is not None:
            # Never below the limit: a late store of another thread must not meet the end of the file.
            os.truncate(self.path, self._limit)

    def _make_room(self, offset):
        with self._lock:
            if self._stopped or self._busy:  # busy: a collection inside this very function wants to record itself
                return False
            self._busy = True
            try:
                if self._view is None:
                    self._open()
                while offset >= self._limit:
                    self._allocate()
                self._configure(self._view, self._limit)
            except Exception as error:
                self._stopped = True
                self._on_fault("recorder: no more events are recorded", error)
                return False
            finally:
                self._busy = False
            return True

    def _open(self):
        path = os.path.join(self.folder, self.stem + ".events")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            os.ftruncate(descriptor, self._capacity)
            os.posix_fallocate(descriptor, 0, CHUNK_BYTES)
            options = {"trackfd": False} if sys.version_info >= (3, 13) else {}
            view = mmap.mmap(descriptor, self._capacity, **options)
        finally:
            os.close(descriptor)
        HEADER.pack_into(view, 0, MAGIC, RECORD.size, self.role, os.getpid())
        self.path = path
        self._view = view
        self._limit = CHUNK_BYTES

    def _allocate(self):
        if self._limit + CHUNK_BYTES > self._capacity:
            raise OSError("the event file is full (%d bytes)" % self._capacity)
        descriptor = os.open(self.path, os.O_RDWR)
        try:
            os.posix_fallocate(descriptor, self._limit, CHUNK_BYTES)
        finally:
            os.close(descriptor)
        done = self._limit - CHUNK_BYTES
        if done >= CHUNK_BYTES:
            # What is written stays in the page cache; it must not count as the program's memory.
            self._view.madvise(mmap.MADV_DONTNEED, done - CHUNK_BYTES, CHUNK_BYTES)
        self._limit += CHUNK_BYTES
