"""What the batches of the training loaders are made of, from measured batches (times) and stack samples (what the time is)."""

import statistics

from pitstop.diagnose.load_stages import Loading, loading_samples
from pitstop.records import CensusSighting, Evidence, LoaderSighting, PipelineSighting
from pitstop.records.results import PipelinePart, PipelineResult, Shadow, TensorResult
from pitstop.stats.percentiles import percentile

__all__ = ["describe_pipelines"]

_FEWEST_SAMPLES = 20  # of the stack, to split loading by them
_HOT = 3


def describe_pipelines(
    evidence: Evidence, train_loaders: frozenset[int], stack_samples: tuple[tuple[str, int], ...]
) -> tuple[PipelineResult, ...]:
    """Return one result per training loader of which batches were measured.

    Stack samples do not say which loader they are of, only whether workers or the main process took them.
    """
    loaders = {loader.id: loader for loader in evidence.loaders}
    census = {seen.loader: seen for seen in evidence.census}
    return tuple(
        _describe(pipeline, loaders[pipeline.loader], census.get(pipeline.loader), stack_samples)
        for pipeline in evidence.pipelines
        if pipeline.loader in train_loaders and pipeline.loader in loaders and pipeline.batches
    )


def _describe(
    seen: PipelineSighting,
    loader: LoaderSighting,
    census: CensusSighting | None,
    stack_samples: tuple[tuple[str, int], ...],
) -> PipelineResult:
    loading = loading_samples(stack_samples, in_workers=loader.num_workers > 0)
    times, parts = seen.sample_times_ns, _parts(seen, loading)
    p90 = None if seen.whole_batches else percentile(times, share=0.9).value
    return PipelineResult(
        loader=f"{loader.stack[-1].path}:{loader.stack[-1].line}" if loader.stack else loader.dataset_class,
        num_workers=loader.num_workers,
        measured_batches=seen.batches,
        batch_ns=sum(part.batch_ns for part in parts),
        sample_mean_ns=round(seen.load_ns / seen.samples) if seen.samples else None,
        sample_median_ns=round(statistics.median(times)) if times and not seen.whole_batches else None,
        sample_p90_ns=None if p90 is None else round(p90),
        batch_bytes=round(census.batch_bytes / census.batches) if census and census.batches else None,
        smallest_batch=census.smallest if census else None,
        largest_batch=census.largest if census else None,
        parts=parts,
        tensors=_tensors(census),
        hot=_hot(loading),
    )


def _parts(seen: PipelineSighting, loading: Loading) -> tuple[PipelinePart, ...]:
    """Return what a batch takes, in the order in which it happens. Loading is split by stack samples where there are enough."""
    load_ns, collate_ns = seen.load_ns / seen.batches, seen.collate_ns / seen.batches
    handover_ns = seen.handover_ns / seen.handovers if seen.handovers else 0.0
    inside = {stage: count for stage, count in loading.stages.items() if stage != "collate"}
    total = sum(inside.values())
    found: dict[str, float] = {"load": load_ns}
    if total >= _FEWEST_SAMPLES:
        order = ("read", "decode", "tokenize", "transform", "own")
        found = {stage: load_ns * inside[stage] / total for stage in order if stage in inside}
    found |= {"collate": collate_ns, "handover": handover_ns}
    whole = sum(found.values())
    return tuple(
        PipelinePart(name=name, batch_ns=round(spent), share=spent / whole if whole else 0.0)
        for name, spent in found.items()
        if spent
    )


def _tensors(census: CensusSighting | None) -> tuple[TensorResult, ...]:
    leaves = census.leaves if census is not None else ()
    return tuple(
        TensorResult(
            path=leaf.path,
            dtypes=leaf.dtypes,
            shapes=leaf.shapes,
            fixed=len(leaf.shapes) == 1,
            padding=leaf.padding if leaf.places else None,
        )
        for leaf in leaves
    )


def _hot(loading: Loading) -> tuple[Shadow, ...]:
    return tuple(
        Shadow(where=where, share=count / loading.total)
        for where, _stage, count in loading.places[:_HOT]
        if not where.startswith("?")
    )
