"""The event file: 32-byte records in a sparse memory-mapped file, so that what is in it survives kill -9.

An event waits in a list for at most twenty milliseconds, because in a fast loop packing it at once would cost 3 us (the code
and data of the packing are never in the caches there), and packing many together a tenth of that each. The first thousand
events are written at once, and in a slow loop so is nearly every one.

Space is allocated on the disk before it is written, because a store into a hole of a full disk is SIGBUS, the end of the
user's program. No file descriptor is kept: programs close descriptors that they do not know, and the number could then
name a file of theirs.
"""

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
GRADIENTS = 1  # arg of a BACKWARD: its gradients were given to the caller
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
MARK_PAUSE = 1  # arg: from here on only the ends of steps are recorded
MARK_RESUME = 2  # arg: from here on everything is
STEP = 15
LOGGING = 17
COMMUNICATION = 18
DEVICE = 19  # a device's time for one call; see pitstop.records.events
REDUCTION = 1  # flag: the end of a backward of DistributedDataParallel

ROLE_PROGRAM = 1
ROLE_WORKER = 2

CAPACITY_BYTES = 256 << 20  # 8 million records; address space, not disk
CHUNK_BYTES = 256 << 10  # disk space is taken in pieces of this size
AT_ONCE = 1024  # events; a program that dies in its first steps loses none
WAIT_NS = 20_000_000
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

    `record(kind, arg, start_ns, end_ns, value=0, flags=0)` takes in one event, times by `time.monotonic_ns()`; it may be called
    from any thread, and never raises. `flush()` writes the events that wait. `put((kind, flags, thread ident, arg, start_ns, end_ns,
    value))` lets an event wait until somebody calls `flush` or `record`: half the cost, for the hottest path.
    `on_fault(where, error)` is told once when recording has to end: the file is full, or the disk is.
    """

    def __init__(self, folder, on_fault, capacity_bytes=CAPACITY_BYTES):
        self.folder = folder
        self._on_fault = on_fault
        self._capacity = capacity_bytes
        self._retired: list = []
        self._view: Any = None
        self.record, self.put, self.flush, self._forget = self._make_record()
        self._start_over()

    def _start_over(self):
        self.role = ROLE_PROGRAM
        self.stem = "%d-%d" % (os.getpid(), time.monotonic_ns())
        self.path: Any = None
        self._offset = HEADER.size  # of the next record
        self._limit = 0  # bytes of the file that may be written
        self._writing = threading.Lock()
        self._stopped = False
        self._threads = _ThreadNumbers(threading.main_thread().ident)
        self._forget()

    def _make_record(self):
        """Return the functions around the list of waiting events: in a closure they cost a third less than as methods."""
        waiting: list = []
        append, on_fault, pack_all = waiting.append, self._on_fault, self._pack_all
        due_ns = 0  # an event that ends later is a reason to write
        written = 0

        def record(kind, arg, start_ns, end_ns, value=0, flags=0):  # noqa: PLR0917 - keywords cost time here
            append((kind, flags, get_ident(), arg, start_ns, end_ns, value))
            if end_ns >= due_ns:
                flush()

        def flush(wait_s=0):
            nonlocal due_ns, written
            # Not blocking: a collection inside this very function records itself, and another thread's flush takes ours along.
            if not self._writing.acquire(wait_s > 0, wait_s or -1):
                return
            try:
                batch = waiting[:]
                del waiting[: len(batch)]
                if batch:
                    written += len(batch)
                    due_ns = batch[-1][5] + WAIT_NS if written >= AT_ONCE else 0
                    pack_all(batch)
            except Exception as error:
                on_fault("recorder.record", error)
            finally:
                self._writing.release()

        def forget():
            nonlocal due_ns, written
            waiting.clear()
            due_ns = written = 0

        return record, append, flush, forget

    def _pack_all(self, batch):
        threads, pack = self._threads, RECORD.pack_into
        for kind, flags, ident, arg, start_ns, end_ns, value in batch:
            if self._offset + RECORD.size > self._limit and not self._make_room():
                return
            try:
                pack(self._view, self._offset, kind, flags, threads[ident], arg, start_ns, end_ns, value)
                self._offset += RECORD.size
            except Exception as error:
                self._on_fault("recorder.record", error)

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
        """Write what waits, stop recording and give back the unused part of the file."""
        self.flush(wait_s=1)
        self._stopped = True
        if self.path is not None:
            # Never below the limit: a late store of another thread must not meet the end of the file.
            os.truncate(self.path, self._limit)

    def _make_room(self):
        if self._stopped:
            return False
        try:
            if self._view is None:
                self._open()
            else:
                self._allocate()
        except Exception as error:
            self._stopped = True
            self._on_fault("recorder: no more events are recorded", error)
            return False
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
