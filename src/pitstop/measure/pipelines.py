"""What a loader's processes saw of its batches, put together: one pipeline and one census per loader."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from pitstop.records import CensusSighting, Event, EventKind, LeafCensus, PipelineSighting, Sighting

__all__ = ["loaders_of_seeds", "merged_census", "merged_pipelines"]

Kind = TypeVar("Kind", PipelineSighting, CensusSighting)

_MOST_TIMES = 2000
_MOST_SHAPES = 8


def loaders_of_seeds(events: Iterable[Event]) -> dict[int, int]:
    """Return base seed -> loader id, from the beginnings of iterations; seeds that two loaders share are left out."""
    found: dict[int, set[int]] = {}
    for event in events:
        if event.kind is EventKind.LOADER_ITER and event.value:
            found.setdefault(event.value, set()).add(event.arg)
    return {seed: next(iter(ids)) for seed, ids in found.items() if len(ids) == 1}


def merged_pipelines(processes: Iterable[Sequence[Sighting]], seeds: Mapping[int, int]) -> tuple[PipelineSighting, ...]:
    """Add up the last words of every process on each loader. Processes whose loader is not known are left out."""
    last = _last(processes, PipelineSighting, seeds)
    return tuple(_sum(number, seen) for number, seen in sorted(last.items()))


def merged_census(processes: Iterable[Sequence[Sighting]], seeds: Mapping[int, int]) -> tuple[CensusSighting, ...]:
    """Put the last words of every process on each loader's batches together."""
    last = _last(processes, CensusSighting, seeds)
    return tuple(_union(number, seen) for number, seen in sorted(last.items()))


def _last(processes: Iterable[Sequence[Sighting]], kind: type[Kind], seeds: Mapping[int, int]) -> dict[int, list[Kind]]:
    found: dict[int, list[Kind]] = {}
    for sightings in processes:
        last = {(seen.loader, seen.seed): seen for seen in sightings if isinstance(seen, kind)}
        for seen in last.values():
            number = seeds.get(seen.seed, 0) if seen.worker is not None else seen.loader
            if number:
                found.setdefault(number, []).append(seen)
    return found


def _sum(number: int, seen: list[PipelineSighting]) -> PipelineSighting:
    times = [time for one in seen for time in one.sample_times_ns]
    free = [one.shared_free_bytes for one in seen if one.shared_free_bytes is not None]
    fields = ("batches", "samples", "load_ns", "collate_ns", "handovers", "handover_ns")
    running = ("wall_ns", "cpu_ns", "thread_cpu_ns", "queued_ns")
    return msgspec.structs.replace(
        seen[0],
        loader=number,
        seed=0,
        worker=None,
        processes=len(seen),
        whole_batches=any(one.whole_batches for one in seen),
        sample_times_ns=tuple(times[:: max(1, len(times) // _MOST_TIMES)]),
        shared_free_bytes=min(free) if free else None,
        **{field: sum(getattr(one, field) for one in seen) for field in (*fields, *running)},
    )


def _union(number: int, seen: list[CensusSighting]) -> CensusSighting:
    sizes = [size for one in seen for size in (one.smallest, one.largest) if size is not None]
    paths = dict.fromkeys(leaf.path for one in seen for leaf in one.leaves)
    return CensusSighting(
        loader=number,
        batches=sum(one.batches for one in seen),
        batch_bytes=sum(one.batch_bytes for one in seen),
        smallest=min(sizes, default=None),
        largest=max(sizes, default=None),
        leaves=tuple(_leaf(path, [leaf for one in seen for leaf in one.leaves if leaf.path == path]) for path in paths),
    )


def _leaf(path: str, seen: list[LeafCensus]) -> LeafCensus:
    shapes = tuple(dict.fromkeys(shape for one in seen for shape in one.shapes))
    return LeafCensus(
        path=path,
        dtypes=tuple(dict.fromkeys(dtype for one in seen for dtype in one.dtypes)),
        shapes=shapes[:_MOST_SHAPES],
        places=sum(one.places for one in seen),
        padded=sum(one.padded for one in seen),
    )
