"""What batches are made of is measured for every kind of loader, and the program does what it does without the probe."""

import sys
from types import SimpleNamespace

import pytest
from probed import PROGRAMS, run, run_program

import pitstop.probe.pytorch.pipelines as measuring
from pitstop.records import EventKind

pytestmark = pytest.mark.torch

KINDS = ("plain", "many", "stream", "stream, single", "whole", "batches", "collated", "workers")


@pytest.fixture(scope="module", params=["fork", "spawn"])
def probed(request, tmp_path_factory):
    return run_program("pipelines.py", request.param, folder=tmp_path_factory.mktemp("pipelines")), request.param


def pipeline(done, kind):
    number = KINDS.index(kind) + 1
    return next(seen for seen in done.reading.evidence.pipelines if seen.loader == number)


def census(done, kind):
    number = KINDS.index(kind) + 1
    return next(seen for seen in done.reading.evidence.census if seen.loader == number)


def test_batches_calls_and_random_streams_are_those_without_the_probe(probed, tmp_path):
    done, method = probed
    plain = run([sys.executable, str(PROGRAMS / "pipelines.py"), method], cwd=tmp_path)
    assert (done.exit_code, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert plain.stdout.count("workers ") == 6
    assert done.reading.faults == ()


@pytest.mark.parametrize(
    ("kind", "batches", "samples", "whole"),
    [
        ("plain", 3, 24, False),
        ("many", 6, 24, True),
        ("stream", 7, 20, False),
        ("whole", 4, 24, True),
        ("batches", 4, 20, False),
        ("collated", 4, 24, False),
        ("workers", 6, 24, False),
    ],
)
def test_samples_and_collation_of_each_kind(probed, kind, batches, samples, whole):
    """What is written last before the end is the latest power of two, so that a process that is killed loses little."""
    seen = pipeline(probed[0], kind)
    processes = 2 if kind == "workers" else 1
    written = processes * (1 << (batches // processes).bit_length() - 1)
    assert (seen.processes, seen.batches) == (processes, written)
    assert seen.samples == pytest.approx(samples * written / batches, abs=2)
    assert seen.whole_batches is whole
    assert len(seen.sample_times_ns) == seen.samples
    assert 0 < seen.load_ns <= seen.wall_ns
    assert 0 < seen.collate_ns <= seen.wall_ns
    assert seen.load_ns + seen.collate_ns <= seen.wall_ns
    assert seen.collate.endswith(
        {"collated": "__main__.pairs", "whole": "default_convert"}.get(kind, "default_collate")
    )


def test_batches_of_workers_are_handed_over_and_find_their_loader(probed):
    done, _method = probed
    seen = pipeline(done, "workers")
    assert seen.handovers >= 4, "two of each worker's three, at the least"
    assert seen.handover_ns > 0
    assert seen.shared_total_bytes
    assert pipeline(done, "plain").handovers == 0
    iterations = [event for event in done.main if event.kind is EventKind.LOADER_ITER]
    assert [event.value > 0 for event in iterations] == [True] * len(KINDS)


def test_the_census_knows_types_shapes_and_padding(probed):
    seen = census(probed[0], "plain")
    tokens, values = seen.leaves
    assert (seen.smallest, seen.largest) == (8, 8)
    assert (tokens.path, tokens.dtypes, tokens.shapes) == ("[0]", ("torch.int64",), ((8, 12),))
    assert 0.1 < tokens.padding < 0.25
    assert (values.dtypes, values.places) == (("torch.float32",), 0)
    assert {leaf.path for leaf in census(probed[0], "stream").leaves} == {"['x']"}


def test_after_the_first_batches_one_in_many_is_measured():
    pipelines = measuring.Pipelines(SimpleNamespace())
    due = [count for count in range(1, 300) if pipelines.due(1)]
    assert due == [*range(1, 17), 64, 128, 192, 256]
    assert pipelines.due(2), "each loader has its own count"
    pipelines.forget()
    assert pipelines.due(1), "and a forked child begins anew"


class Fetcher:
    def __init__(self):
        self.dataset, self.collate_fn = [0, 1, 2], list


def test_the_fetcher_is_as_it_was_also_after_an_error():
    faults = []
    session = SimpleNamespace(fault=lambda *fault: faults.append(fault))
    pipelines, fetcher = measuring.Pipelines(SimpleNamespace(session=session)), Fetcher()
    before = dict(vars(fetcher))

    def fetch(self, index):
        assert self.dataset is not before["dataset"]
        return [self.dataset[one] for one in index]

    with pytest.raises(IndexError):
        pipelines.fetch(fetch, fetcher, [7], 1, None)
    assert vars(fetcher) == before
    assert faults == []


def test_a_fetcher_that_cannot_be_measured_fetches_all_the_same():
    faults = []
    session = SimpleNamespace(fault=lambda *fault: faults.append(fault))
    pipelines = measuring.Pipelines(SimpleNamespace(session=session))
    assert pipelines.fetch(lambda _self, index: index, SimpleNamespace(), [3], 1, None) == [3]
    assert len(faults) == 1
