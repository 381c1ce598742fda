"""The data pipeline of the training loaders, each thing a label and a value."""

from pitstop.messages import say
from pitstop.records.results import PipelineResult, ProfileResult, TensorResult
from pitstop.report import numbers
from pitstop.report.content.facts import SEPARATOR, Fact
from pitstop.report.content.labels import label
from pitstop.report.plain import plain

_MOST_LOADERS = 2
_MOST_TENSORS = 4


def pipeline_facts(result: ProfileResult) -> tuple[Fact, ...]:
    """Return what the batches are made of; () where no batch of a training loader was measured."""
    folder = result.program.cwd.rstrip("/") + "/"
    return tuple(fact for seen in result.pipeline[:_MOST_LOADERS] for fact in _facts(seen, folder))


def pipeline_in_short(result: ProfileResult) -> tuple[Fact, ...]:
    """Return the first loader's batches in one line."""
    return tuple(
        Fact(
            name=label("pipeline", "short"),
            value=say("report.pipeline.in_short", time=numbers.milliseconds(seen.batch_ns), parts=_parts(seen)),
        )
        for seen in result.pipeline[:1]
        if seen.parts
    )


def _facts(seen: PipelineResult, folder: str) -> list[Fact]:
    found = [
        (plain(seen.loader.removeprefix(folder)), _times(seen)),
        (label("pipeline", "parts"), _parts(seen)),
        (label("pipeline", "hot"), _hot(seen, folder)),
        (label("pipeline", "batch"), _batch(seen)),
    ]
    return [Fact(name=name, value=value) for name, value in found if value]


def _times(seen: PipelineResult) -> str:
    parts = [
        say("report.pipeline.workers", count=seen.num_workers)
        if seen.num_workers
        else say("report.pipeline.main_process"),
        say("report.pipeline.per_batch", time=numbers.milliseconds(seen.batch_ns), count=seen.measured_batches),
    ]
    if seen.sample_mean_ns is not None:
        parts.append(say("report.pipeline.per_sample", time=numbers.duration(seen.sample_mean_ns)))
    if seen.sample_p90_ns is not None:
        parts.append(say("report.pipeline.p90", time=numbers.duration(seen.sample_p90_ns)))
    return SEPARATOR.join(parts)


def _parts(seen: PipelineResult) -> str:
    return SEPARATOR.join(f"{label('stage', part.name)} {numbers.share(part.share)}" for part in seen.parts)


def _hot(seen: PipelineResult, folder: str) -> str:
    return SEPARATOR.join(
        f"{plain(place.where.removeprefix(folder))} {numbers.share(place.share)}" for place in seen.hot
    )


def _batch(seen: PipelineResult) -> str:
    parts = []
    if seen.smallest_batch is not None and seen.largest_batch is not None:
        same = seen.smallest_batch == seen.largest_batch
        size = str(seen.largest_batch) if same else f"{seen.smallest_batch}-{seen.largest_batch}"
        parts.append(say("report.pipeline.size", size=size))
    if seen.batch_bytes is not None:
        parts.append(numbers.bytes_text(seen.batch_bytes))
    parts += [_tensor(tensor) for tensor in seen.tensors[:_MOST_TENSORS]]
    return SEPARATOR.join(parts)


def _tensor(tensor: TensorResult) -> str:
    kinds = "/".join(dtype.removeprefix("torch.") for dtype in tensor.dtypes)
    shape = "x".join(map(str, tensor.shapes[0])) if tensor.shapes else ""
    text = f"{tensor.path} {kinds} {shape}".strip()
    if not tensor.fixed:
        text += f" ({say('report.pipeline.varying')})"
    if tensor.padding:
        text += f" ({say('report.pipeline.padding', share=numbers.share(tensor.padding))})"
    return plain(text)
