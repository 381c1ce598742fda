"""Which part of loading a stack sample was in, by the library code that ran: the table, and the shares."""

from collections import Counter
from collections.abc import Iterable
from typing import Literal

import msgspec

__all__ = ["Loading", "Stage", "loading_samples", "stage_of"]

Stage = Literal["read", "decode", "tokenize", "transform", "own", "collate"]

# The last two parts of the innermost frame's path begin with these; the first that fits counts. Names of functions follow.
_LIBRARIES: tuple[tuple[Stage, tuple[str, ...]], ...] = (
    ("collate", ("_utils/collate.py",)),
    ("tokenize", ("tokenizers/", "sentencepiece/", "tiktoken/", "transformers/tokenization_")),
    ("decode", ("PIL/ImageFile.py", "io/image.py", "io/video", "decoders/", "imageio/", "PIL/GifImagePlugin.py")),
    ("decode", ("PIL/JpegImagePlugin.py", "PIL/PngImagePlugin.py", "PIL/WebPImagePlugin.py", "PIL/TiffImagePlugin.py")),
    ("decode", ("soundfile.py", "audioread/", "_torchcodec/", "torchcodec/", "pydicom/")),
    ("transform", ("PIL/Image", "transforms/", "v2/", "functional/", "albumentations/", "augmentations/", "kornia/")),
    ("read", ("_hl/", "h5py/", "lmdb/", "zarr/", "webdataset/", "gzip.py", "zipfile.py", "zipfile/", "tarfile.py")),
    (
        "read",
        ("pyarrow/", "formatting/", "datasets/", "fsspec/", "s3fs/", "pandas/", "lib/_npyio_impl.py", "lib/npyio.py"),
    ),
)
_STANDARD_READS = ("gzip.py", "zipfile.py", "tarfile.py", "soundfile.py")
_OPENS = frozenset(["open", "_open", "accept", "preinit"])  # of PIL/Image.py: the header is read there
_TOKENIZES = frozenset(["_tokenize", "_encode_plus", "_batch_encode_plus", "encode_plus", "_call_one"])
# Nothing is loaded there: a worker waits for indices, the main process for workers.
_WAITS = ("selectors.py", "connection.py", "queues.py", "threading.py", "queue.py", "popen_", "process.py", "util.py")
_WAITS_MORE = ("synchronize.py", "_utils/worker.py", "_utils/pin_memory.py", "_utils/signal_handling.py")


class Loading(msgspec.Struct, frozen=True, kw_only=True):
    """Stack samples that were inside loading: counts by stage, and by place ("file:line function > library") with its stage."""

    stages: dict[Stage, int]
    places: tuple[tuple[str, Stage, int], ...]  # the most samples first

    @property
    def total(self) -> int:
        """Number of samples."""
        return sum(self.stages.values())

    def share(self, stage: Stage) -> float:
        """Share of the samples in a stage, 0 without any."""
        return self.stages.get(stage, 0) / self.total if self.total else 0.0

    def place(self, stage: Stage) -> str | None:
        """Return the place with the most samples in a stage."""
        return next(
            (where for where, found, _count in self.places if found == stage and not where.startswith("?")), None
        )


def loading_samples(samples: Iterable[tuple[str, int]], *, in_workers: bool) -> Loading:
    """Return the samples in which a batch was being made: by workers, or while the main process was in its loader."""
    category = "worker" if in_workers else "data_wait"
    stages: Counter[Stage] = Counter()
    places: Counter[tuple[str, Stage]] = Counter()
    for text, count in samples:
        found, _, where = text.partition("|")
        stage = stage_of(where) if found == category else None
        if stage is not None:
            stages[stage] += count
            places[where, stage] += count
    ranked = sorted(places.items(), key=lambda item: (-item[1], item[0]))
    return Loading(stages=dict(stages), places=tuple((where, stage, count) for (where, stage), count in ranked))


def stage_of(where: str) -> Stage | None:
    """Return the stage of "file:line function > dir/file.py function"; None for waiting, and for what says nothing."""
    users, arrow, library = where.partition(" > ")
    if not arrow:
        return None if users == "?" else "own"
    path, _, function = library.rpartition(" ")
    name = path.rpartition("/")[2]
    if name.startswith(_WAITS) or path.startswith(_WAITS_MORE) or path.endswith("synchronize.py"):
        return None
    if path == "PIL/Image.py" and function in _OPENS:
        return "read"
    if function in _TOKENIZES or name.startswith("tokenization_"):
        return "tokenize"
    for stage, beginnings in _LIBRARIES:
        if path.startswith(beginnings) or (name in _STANDARD_READS and name in beginnings):
            return stage
    return "own"
