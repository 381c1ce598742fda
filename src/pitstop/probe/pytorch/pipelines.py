"""What loading a batch is made of: samples, collation, handing over to the main process; and a census of what comes out.

The first batches of each loader are measured, and then one in many: for the length of one `fetch` stand-ins with a clock take the
places of the fetcher's dataset and collate function. Nothing is called that would not be called, in another order or more often.
"""

import os
import sys
import time
from typing import Any

from .census import Census

FIRST_BATCHES = 16  # measured of each loader in each process
THEN_EVERY = 64
KEPT_TIMES = 128  # of single samples, the latest
_SHARED = "/dev/shm"  # noqa: S108 - looked at, not written to
WRITE_EVERY = 16  # measured batches, after the first sixteen


class Pipelines:
    """Measures fetches of this process. `owners`: id of a fetcher in the main process -> loader number."""

    def __init__(self, hooked):
        self._hooked = hooked
        self.owners: dict[int, int] = {}
        self._counts: dict[int, int] = {}
        self._loaders: dict[int, _Loader] = {}
        self.forget()

    def forget(self):
        """In a forked child: what was measured is the parent's."""
        self.owners.clear()
        self._counts.clear()
        self._loaders.clear()
        self._handing = None

    def due(self, number):
        """Count one fetch of a loader and tell whether it is one to measure."""
        count = self._counts[number] = self._counts.get(number, 0) + 1
        return count <= FIRST_BATCHES or count % THEN_EVERY == 0

    def fetch(self, original, fetcher, index, number, info):
        """Do what `original(fetcher, index)` does, measured. `info`: the worker's, None in the main process."""
        clock = _Clock()
        try:
            kept = clock.take_places(fetcher)
        except Exception as error:
            self._hooked.session.fault("measuring a loader", error)
            return original(fetcher, index)
        try:
            before = _scheduling()
            data = original(fetcher, index)
            after = _scheduling()
        finally:
            fetcher.__dict__.update(kept)
        try:
            clock.scheduling = [b - a for a, b in zip(before, after)]
            self._add(number, info, fetcher, clock, data)
        except Exception as error:
            self._hooked.session.fault("measuring a loader", error)
        return data

    def _add(self, number, info, fetcher, clock, data):
        loader = self._loaders.get(number)
        if loader is None:
            loader = self._loaders[number] = _Loader(self._hooked.torch, fetcher)
        loader.add(clock, data, info)
        if info is not None:
            self._handing = self._handing or _handing_over(loader, lambda: self._write(number, loader, info))
            loader.awaited += 1
        if _is_time(loader.batches):
            self._write(number, loader, info)

    def _write(self, number, loader, info):
        where = {
            "loader": number,
            "seed": info.seed - info.id if info is not None else 0,
            "worker": info.id if info is not None else None,
        }
        self._hooked.session.sightings.write("pipeline", **where, **loader.fields())
        self._hooked.session.sightings.write("census", **where, **loader.census.fields())


def _is_time(count):
    """Tell whether sums are written after so many: seldom, and so that a process that is killed loses less than half."""
    return count & (count - 1) == 0 or count % WRITE_EVERY == 0


class _Clock:
    """The times of one fetch. Stand-ins are installed on the fetcher's own attributes, which no code of the program sees."""

    def __init__(self):
        self.samples = []
        self.whole = False  # the dataset was asked for many samples at once
        self.load_ns = self.collate_ns = 0
        self.scheduling = [0, 0, 0, 0]

    def take_places(self, fetcher):
        """Put stand-ins into `fetcher` and return what was there."""
        kept = {"collate_fn": fetcher.__dict__["collate_fn"]}
        if "dataset_iter" in fetcher.__dict__:
            kept["dataset_iter"] = fetcher.__dict__["dataset_iter"]
            fetcher.dataset_iter = _Iterator(self, kept["dataset_iter"])
        else:
            kept["dataset"] = fetcher.__dict__["dataset"]
            fetcher.dataset = _Dataset(self, kept["dataset"])
        collate, now = kept["collate_fn"], time.monotonic_ns

        def timed(samples):
            start_ns = now()
            batch = collate(samples)
            self.collate_ns += now() - start_ns
            return batch

        fetcher.collate_fn = timed
        return kept

    def one(self, start_ns, many):
        """Take in that the dataset was asked, once, for one sample or for `many`."""
        taken_ns = time.monotonic_ns() - start_ns
        self.load_ns += taken_ns
        self.samples.extend([taken_ns // max(1, many)] * max(1, many) if many else [taken_ns])
        self.whole = self.whole or bool(many)


class _Dataset:
    """In the place of a map-style dataset: asks it the same things. Special methods are looked up as the fetcher does."""

    def __init__(self, clock, dataset):
        self._clock, self._dataset = clock, dataset

    def __getitem__(self, index):
        start_ns = time.monotonic_ns()
        sample = self._dataset[index]
        self._clock.one(start_ns, len(index) if isinstance(index, (list, tuple)) else 0)
        return sample

    def __getattr__(self, name):
        value = getattr(self._dataset, name)
        return self._many(value) if name == "__getitems__" and value else value

    def _many(self, getitems):
        def timed(indices):
            start_ns = time.monotonic_ns()
            samples = getitems(indices)
            self._clock.one(start_ns, len(indices))
            return samples

        return timed


class _Iterator:
    """In the place of an iterator over an iterable dataset."""

    def __init__(self, clock, iterator):
        self._clock, self._iterator = clock, iterator

    def __iter__(self):
        return self

    def __next__(self):
        start_ns = time.monotonic_ns()
        sample = next(self._iterator)
        self._clock.one(start_ns, 0)
        return sample


class _Loader:
    """What is known of one loader in this process. Sums, so that processes can be added up."""

    def __init__(self, torch, fetcher):
        self.census = Census(torch)
        self._collate = fetcher.collate_fn
        self.batches = self._samples = self._load_ns = self._collate_ns = 0
        self._times: list = []
        self._whole = False
        self._running = [0, 0, 0, 0]
        self.awaited = 0  # batches measured and not yet handed over
        self.handovers = self.handover_ns = 0
        self._shared = None

    def add(self, clock, data, info):
        """Take in one batch."""
        self.batches += 1
        self._samples += len(clock.samples)
        self._load_ns += clock.load_ns
        self._collate_ns += clock.collate_ns
        self._times = (self._times + clock.samples)[-KEPT_TIMES:]
        self._whole = self._whole or clock.whole
        self._running = [a + b for a, b in zip(self._running, clock.scheduling)]
        if self.batches <= FIRST_BATCHES or self.batches % THEN_EVERY == 0:
            self.census.add(data)
        if info is not None:
            self._look_at_shared_memory()

    def _look_at_shared_memory(self):
        try:
            found = os.statvfs(_SHARED)
        except OSError:
            return
        free, total = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
        self._shared = (min(free, self._shared[0]), total) if self._shared else (free, total)

    def fields(self):
        """Return the fields of a `PipelineSighting`."""
        collate: Any = self._collate
        collate = collate if hasattr(collate, "__qualname__") else type(collate)
        return {
            "batches": self.batches,
            "samples": self._samples,
            "load_ns": self._load_ns,
            "collate_ns": self._collate_ns,
            "handovers": self.handovers,
            "handover_ns": self.handover_ns,
            "whole_batches": self._whole,
            "sample_times_ns": self._times,
            "collate": "%s.%s" % (getattr(collate, "__module__", None) or "?", collate.__qualname__),
            "wall_ns": self._running[0],
            "cpu_ns": self._running[1],
            "thread_cpu_ns": self._running[2],
            "queued_ns": self._running[3],
            "shared_free_bytes": self._shared[0] if self._shared else None,
            "shared_total_bytes": self._shared[1] if self._shared else None,
        }


def _scheduling():
    """Return wall time, processor time of the process and of this thread, and how long this thread waited for a processor."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            queued_ns = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):  # a kernel without it
        queued_ns = 0
    return time.monotonic_ns(), time.process_time_ns(), time.thread_time_ns(), queued_ns


def _handing_over(loader, write):
    """In a worker: time how long its queue's own thread pickles a measured batch, which is when tensors go to shared memory."""
    queues: Any = sys.modules["multiprocessing.queues"]
    queues._ForkingPickler = _Pickler(queues._ForkingPickler, loader, write)
    return queues._ForkingPickler


class _Pickler:
    """In the place of multiprocessing's pickler class: pickles with it."""

    def __init__(self, pickler, loader, write):
        self._pickler, self._loader, self._write = pickler, loader, write

    def __getattr__(self, name):
        return getattr(self._pickler, name)

    def __call__(self, *args, **kwargs):
        return self._pickler(*args, **kwargs)

    def dumps(self, *args, **kwargs):
        """Pickle, timed where it is a measured batch: (index, batch)."""
        loader = self._loader
        if not loader.awaited or not (args and isinstance(args[0], tuple) and len(args[0]) == 2):
            return self._pickler.dumps(*args, **kwargs)
        start_ns = time.monotonic_ns()
        result = self._pickler.dumps(*args, **kwargs)
        loader.handover_ns += time.monotonic_ns() - start_ns
        loader.handovers += 1
        loader.awaited -= 1
        if _is_time(loader.handovers):
            self._write()
        return result
