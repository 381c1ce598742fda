"""Reading sightings into evidence."""

import msgspec
import pytest

from pitstop.measure.sightings import Seen, read_sightings
from pitstop.records import LoaderSighting, ModuleNames, OptimizerSighting, ProbeFault, Site

SITE = Site(path="/p/train.py", line=3)


def loader(**options):
    settings = {
        "num_workers": 0,
        "batch_size": 8,
        "prefetch_factor": None,
        "persistent_workers": False,
        "pin_memory": False,
    }
    rest = {
        "multiprocessing_context": None,
        "dataset_class": "D",
        "dataset_len": 1,
        "iterable": False,
        "sampler_class": None,
    }
    return LoaderSighting(**{"id": 1, "stack": (SITE,), **settings, **rest, **options})


def optimizer(**options):
    facts = {
        "optimizer_class": "torch.optim.sgd.SGD",
        "num_tensors": 1,
        "num_elements": 1,
        "fused": None,
        "foreach": None,
    }
    return OptimizerSighting(**{"id": 1, "stack": (SITE,), **facts, **options})


@pytest.fixture
def read(tmp_path):
    def run(*lines):
        path = tmp_path / "1-1.sightings.jsonl"
        path.write_bytes(
            b"".join(line if isinstance(line, bytes) else msgspec.json.encode(line) + b"\n" for line in lines)
        )
        return read_sightings(path)

    return run


def test_the_last_word_on_a_loader_counts(read):
    evidence = read(loader(), loader(id=2), loader(num_workers=4)).evidence("/p")
    assert [(seen.id, seen.num_workers) for seen in evidence.loaders] == [(1, 4), (2, 0)]


def test_later_names_are_merged_into_the_optimizer(read):
    names = [ModuleNames(optimizer=1, modules={"model": 1}), ModuleNames(optimizer=1, modules={"critic": 2})]
    evidence = read(optimizer(modules={"ema": 3}), optimizer(id=2), *names).evidence("/p")
    assert [seen.modules for seen in evidence.optimizers] == [{"ema": 3, "model": 1, "critic": 2}, {}]


def test_a_cut_last_line_keeps_the_others(read):
    seen = read(loader(), msgspec.json.encode(loader(id=2))[:-9])
    assert len(seen.sightings) == 1
    assert seen.faults[0].startswith("1-1.sightings.jsonl:2:")


def test_lines_of_no_known_kind_are_faults(read):
    seen = read(b'{"kind": "unheard of"}\n', b"\xff\xfe\n", loader())
    assert (len(seen.sightings), len(seen.faults)) == (1, 2)


def test_faults_of_the_probe_are_evidence(read):
    assert read(ProbeFault(where="w", error="e")).evidence("/p").faults == (ProbeFault(where="w", error="e"),)


def test_no_file_is_nothing_seen(tmp_path):
    assert read_sightings(tmp_path / "gone") == Seen()
