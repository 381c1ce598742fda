"""Where inside the loading the time goes: stages by library frame, parts that sum to the batch, the user's hot lines."""

import msgspec
import pytest

from pitstop.diagnose.load_stages import loading_samples, stage_of
from pitstop.diagnose.pipeline import describe_pipelines
from pitstop.records import CensusSighting, Evidence, LeafCensus, LoaderSighting, PipelineSighting, Site


@pytest.mark.parametrize(
    ("where", "stage"),
    [
        ("/me/photos.py:9 Photos.__getitem__ > PIL/ImageFile.py load", "decode"),
        ("/me/photos.py:9 Photos.__getitem__ > PIL/Image.py open", "read"),
        ("/me/photos.py:9 Photos.__getitem__ > PIL/Image.py resize", "transform"),
        ("/me/photos.py:9 Photos.__getitem__ > transforms/_functional_pil.py crop", "transform"),
        ("/me/photos.py:9 Photos.__getitem__", "own"),
        ("/me/text.py:3 Text.__getitem__ > bert/tokenization_bert.py _tokenize", "tokenize"),
        ("/me/text.py:3 Text.__getitem__ > transformers/tokenization_utils_fast.py _batch_encode_plus", "tokenize"),
        ("/me/h5.py:3 H5.__getitem__ > _hl/dataset.py __getitem__", "read"),
        ("? > _utils/collate.py collate_tensor_fn", "collate"),
        ("/me/train.py:3 main > _utils/collate.py collate_tensor_fn", "collate"),
        ("/me/train.py:3 main > utils/data/dataset.py __getitem__", "own"),
        ("? > python3.11/selectors.py select", None),
        ("/me/train.py:3 main > multiprocessing/connection.py poll", None),
        ("? > _utils/worker.py _worker_loop", None),
        ("?", None),
    ],
)
def test_the_stage_is_that_of_the_innermost_library_frame(where, stage):
    assert stage_of(where) == stage


SAMPLES = (
    ("worker|/me/photos.py:9 get > PIL/ImageFile.py load", 60),
    ("worker|/me/photos.py:11 get > PIL/Image.py resize", 20),
    ("worker|? > _utils/collate.py collate_tensor_fn", 20),
    ("worker|? > python3.11/selectors.py select", 900),
    ("data_wait|/me/train.py:30 main > multiprocessing/connection.py poll", 500),
    ("forward|/me/net.py:5 forward", 300),
)


def test_waiting_is_no_part_of_loading():
    loading = loading_samples(SAMPLES, in_workers=True)
    assert loading.stages == {"decode": 60, "transform": 20, "collate": 20}
    assert loading.share("decode") == 0.6
    assert loading.place("decode") == "/me/photos.py:9 get > PIL/ImageFile.py load"
    assert loading_samples(SAMPLES, in_workers=False).total == 0


LOADER = LoaderSighting(
    id=1,
    stack=(Site(path="/me/train.py", line=20),),
    num_workers=2,
    batch_size=8,
    prefetch_factor=2,
    persistent_workers=True,
    pin_memory=False,
    multiprocessing_context=None,
    dataset_class="photos.Photos",
    dataset_len=80,
    iterable=False,
    sampler_class=None,
)
PIPELINE = PipelineSighting(
    loader=1,
    processes=2,
    batches=10,
    samples=80,
    load_ns=8_000_000,
    collate_ns=1_000_000,
    handovers=5,
    handover_ns=500_000,
    sample_times_ns=tuple(90_000 + 1000 * (i * 37 % 21) for i in range(80)),
)


def described(samples=SAMPLES, pipeline=PIPELINE, **fields):
    census = CensusSighting(
        loader=1,
        batches=4,
        batch_bytes=4096,
        smallest=8,
        largest=8,
        leaves=(LeafCensus(path="[0]", dtypes=("torch.int64",), shapes=((8, 4), (8, 6)), places=80, padded=20),),
    )
    evidence = Evidence(project_root="/me", loaders=(LOADER,), pipelines=(pipeline,), census=(census,))
    return describe_pipelines(evidence, fields.get("train", frozenset({1})), samples)


def test_loading_is_split_by_stack_samples_and_the_parts_sum_to_the_batch():
    (seen,) = described()
    parts = {part.name: part.batch_ns for part in seen.parts}
    assert parts == {"decode": 600_000, "transform": 200_000, "collate": 100_000, "handover": 100_000}
    assert seen.batch_ns == sum(parts.values())
    assert sum(part.share for part in seen.parts) == pytest.approx(1)
    assert (seen.loader, seen.num_workers, seen.sample_mean_ns) == ("/me/train.py:20", 2, 100_000)
    assert seen.sample_p90_ns is not None
    assert seen.hot[0].where == "/me/photos.py:9 get > PIL/ImageFile.py load"
    assert (seen.batch_bytes, seen.tensors[0].fixed, seen.tensors[0].padding) == (1024, False, 0.25)


def test_with_few_stack_samples_loading_stays_whole():
    (seen,) = described(samples=(("worker|/me/photos.py:9 get > PIL/ImageFile.py load", 19),))
    assert [part.name for part in seen.parts] == ["load", "collate", "handover"]


def test_samples_of_whole_batches_have_no_percentile():
    (seen,) = described(pipeline=msgspec.structs.replace(PIPELINE, whole_batches=True))
    assert (seen.sample_p90_ns, seen.sample_median_ns) == (None, None)
    assert seen.sample_mean_ns == 100_000


def test_loaders_that_feed_no_training_are_left_out():
    assert described(train=frozenset({2})) == ()
