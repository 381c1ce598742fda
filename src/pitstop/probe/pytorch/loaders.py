"""DataLoader: construction, iteration, every batch asked for, the end of an epoch, and batches made in worker processes."""

import functools
import sys
import time
import weakref
from _thread import get_ident
from typing import Any

from ..recorder import EPOCH_END, FETCH, LOADER_ITER, WORKER_FETCH
from .batches import SampleCounter
from .origins import Origins

MAX_LOADERS = 64  # described; programs that make a loader per epoch make thousands


def install(hooked):
    """Patch the loader, the iterators' common base and the fetchers."""
    data = sys.modules["torch.utils.data"]
    dataloader = sys.modules["torch.utils.data.dataloader"]
    feeds: dict[int, Any] = {}  # id(iterator) -> (loader number, SampleCounter, weak reference that removes the entry)
    made: dict[int, Any] = {}  # loader number -> where it was made, as fields of its sighting
    _watch_construction(hooked, data.DataLoader, made)
    _watch_iteration(hooked, data.DataLoader, made)
    _watch_iterators(hooked, dataloader._BaseDataLoaderIter, feeds)
    _watch_batches(hooked, dataloader._BaseDataLoaderIter, feeds)
    if hooked.profile:
        _watch_workers(hooked)
        _watch_shutdown(hooked, dataloader._MultiProcessingDataLoaderIter, feeds)


def _watch_construction(hooked, loader_class, made):
    original, origins = loader_class.__init__, Origins()

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):  # noqa: N807 - takes the place of the real one
        original(self, *args, **kwargs)
        try:
            if not hooked.session.is_worker:
                number = hooked.loaders.give(self)
                if number > MAX_LOADERS:
                    return
                made[number] = origins.of(self, sys._getframe(1))
                hooked.session.sightings.write("loader", id=number, **{**describe(self), **made[number]})
        except Exception as error:
            hooked.session.fault("DataLoader()", error)

    loader_class.__init__ = hooked.own(__init__)


def _watch_iteration(hooked, loader_class, made):
    original = loader_class.__iter__
    record, now = hooked.record, time.monotonic_ns
    iterated = set()

    @functools.wraps(original)
    def __iter__(self):  # noqa: N807
        hooked.loader_begins()
        start_ns = now()
        iterator = original(self)
        end_ns = now()
        try:
            number = hooked.loaders.give(self)
            record(LOADER_ITER, number, start_ns, end_ns, _base_seed(iterator))
            fetcher = getattr(iterator, "_dataset_fetcher", None)  # where batches are made in this process
            if fetcher is not None and hooked.pipelines is not None:
                hooked.pipelines.owners[id(fetcher)] = number
            if number <= MAX_LOADERS and number not in iterated:
                iterated.add(number)
                hooked.phase_begins()
                # What it finally uses: settings may have been assigned since it was made. The last sighting of an id counts.
                fields = {"stack": [], **describe(self), **made.get(number, {})}
                hooked.session.sightings.write("loader", id=number, **fields)
        except Exception as error:
            hooked.session.fault("iter(DataLoader)", error)
        return iterator

    loader_class.__iter__ = hooked.own(__iter__, "data_wait")


def _watch_iterators(hooked, iterator_class, feeds):
    original = iterator_class.__init__

    @functools.wraps(original)
    def __init__(self, loader, *args, **kwargs):  # noqa: N807
        try:
            key = id(self)
            gone = weakref.ref(self, lambda _gone: feeds.pop(key, None))
            feeds[key] = (hooked.loaders.give(loader), SampleCounter(hooked.torch, loader.batch_size), gone)
        except Exception as error:
            hooked.session.fault("DataLoader iterator", error)
        original(self, loader, *args, **kwargs)

    iterator_class.__init__ = hooked.own(__init__)


def _watch_batches(hooked, iterator_class, feeds):
    original = iterator_class.__next__
    record, now, busy, clock, fault = hooked.record, time.monotonic_ns, hooked.busy, hooked.clock, hooked.session.fault
    always = hooked.profile

    @functools.wraps(original)
    def __next__(self):  # noqa: N807
        ident = get_ident()
        if ident in busy:  # a loader inside a dataset: its time is the outer fetch's
            return original(self)
        busy.add(ident)
        start_ns = now()
        try:
            batch = original(self)
        except StopIteration:
            record(EPOCH_END, feeds[id(self)][0] if id(self) in feeds else 0, start_ns, now())
            raise
        finally:
            busy.discard(ident)
        end_ns = now()
        if always or not clock.is_outranked(FETCH):
            try:
                number, counter, _gone = feeds[id(self)]
                record(FETCH, number, start_ns, end_ns, counter.count(batch))
            except Exception as error:
                fault("next(DataLoader)", error)
            clock.tick(FETCH)
        return batch

    hooked.switched.patch(iterator_class, "__next__", hooked.own(__next__, "data_wait"))


def _watch_shutdown(hooked, iterator_class, feeds):
    """See the end of an epoch that ends workers, where batches are not being watched: it takes its time."""
    original = getattr(iterator_class, "_shutdown_workers", None)
    if original is None:
        return
    record, now = hooked.record, time.monotonic_ns

    @functools.wraps(original)
    def _shutdown_workers(self):
        if not hooked.bursts.paused:
            return original(self)
        hooked.loader_begins()
        if hooked.bursts.paused:
            return original(self)
        start_ns = now()
        result = original(self)
        record(EPOCH_END, feeds[id(self)][0] if id(self) in feeds else 0, start_ns, now())
        return result

    iterator_class._shutdown_workers = hooked.own(_shutdown_workers, "data_wait")


def _watch_workers(hooked):
    """Time batches made in workers. The fetchers run in the main process as well, where the time is already FETCH's."""
    fetch = sys.modules["torch.utils.data._utils.fetch"]
    worker = sys.modules["torch.utils.data._utils.worker"]
    for fetcher_class in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
        _watch_fetcher(hooked, fetcher_class, worker)


def _watch_fetcher(hooked, fetcher_class, worker):
    original = fetcher_class.fetch
    record, now, session = hooked.record, time.monotonic_ns, hooked.session
    counters: dict[int, SampleCounter] = {}
    pipelines = hooked.pipelines
    owners, due = pipelines.owners, pipelines.due

    @functools.wraps(original)
    def fetch(self, possibly_batched_index):
        info = worker._worker_info
        if info is None:
            number = owners.get(id(self), 0)
            if due(number):
                return pipelines.fetch(original, self, possibly_batched_index, number, None)
            return original(self, possibly_batched_index)
        if not session.is_worker:
            session.be_worker()
            hooked.discovery.end()
            hooked.busy.add(get_ident())  # modules called in a dataset are no outermost modules
        start_ns = now()
        measured = due(0)
        data = (
            pipelines.fetch(original, self, possibly_batched_index, 0, info)
            if measured
            else original(self, possibly_batched_index)
        )
        end_ns = now()
        try:
            expected = len(possibly_batched_index) if hasattr(possibly_batched_index, "__len__") else None
            counter = counters.get(info.id) or counters.setdefault(info.id, SampleCounter(hooked.torch, expected))
            record(WORKER_FETCH, info.id, start_ns, end_ns, counter.count(data))
        except Exception as error:
            session.fault("worker fetch", error)
        return data

    fetcher_class.fetch = hooked.own(fetch)


def _base_seed(iterator):
    """Return the number that tells the workers of this iterator from others: a worker knows it plus its own id, however it was started."""
    seed = getattr(iterator, "_base_seed", None)
    return seed if isinstance(seed, int) and 0 <= seed < 1 << 63 else 0


def describe(loader):
    """Return what a `LoaderSighting` says about a loader's settings, as it is now."""
    dataset = loader.dataset
    sampler = getattr(loader, "sampler", None)
    context = loader.multiprocessing_context
    return {
        "num_workers": loader.num_workers,
        "batch_size": loader.batch_size,
        "prefetch_factor": loader.prefetch_factor,
        "persistent_workers": bool(loader.persistent_workers),
        "pin_memory": bool(loader.pin_memory),
        "multiprocessing_context": context.get_start_method() if context is not None else None,
        "dataset_class": qualified(type(dataset)),
        "dataset_len": _length(dataset),
        "iterable": isinstance(dataset, sys.modules["torch.utils.data"].IterableDataset),
        "sampler_class": qualified(type(sampler)) if sampler is not None else None,
        "loader_class": qualified(type(loader)),
    }


def qualified(kind):
    """Return a class's name with its module."""
    return kind.__module__ + "." + kind.__qualname__


def _length(dataset):
    try:
        return len(dataset)
    except Exception:  # many datasets have no length, and say so in many ways
        return None
