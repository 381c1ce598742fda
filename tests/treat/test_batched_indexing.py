"""Batches indexed at once are those of the program as it is: bit for bit, in the same order, from the same random streams."""

import json
import subprocess
import sys

import msgspec
import pytest

from pitstop.treat import CannotEdit, build_change
from treat.golden import ROOT, answers_of, view_of

CASES = [
    "indexed_arrays",
    "anomaly_on",
    "sequential_function",
    "accumulation",
    "positional_arguments",
    "loader_factory",
]

# Runs scripts, and prints of each a hash of every batch that any loader gave, what the program printed, and the random state at its end.
RUNNER = """
import contextlib, hashlib, io, json, runpy, sys, warnings
import torch
from torch.utils.data import dataloader
warnings.simplefilter("ignore")
torch.set_num_threads(1)
plain = dataloader._BaseDataLoaderIter.__next__
batches = []
def describe(value):
    if isinstance(value, torch.Tensor):
        raw = value.contiguous().numpy().tobytes()
        return [str(value.dtype), list(value.shape), hashlib.sha256(raw).hexdigest()]
    if isinstance(value, dict):
        return {key: describe(item) for key, item in value.items()}
    return [type(value).__name__, *map(describe, value)]
def next_batch(self):
    batch = plain(self)
    batches.append(describe(batch))
    return batch
dataloader._BaseDataLoaderIter.__next__ = next_batch
found = {}
for script in sys.argv[1:]:
    batches.clear()
    torch.manual_seed(0)
    sys.argv, out = [script], io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(script, run_name="__main__")
    found[script] = [list(batches), out.getvalue(), hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest()]
print(json.dumps(found))
"""


def proposal_of(name):
    return next(proposal for proposal in answers_of(name)[0] if proposal.treatment == "batched-indexing")


@pytest.mark.torch
def test_batches_order_and_random_streams_are_the_same_to_the_bit(tmp_path):
    scripts = []
    for name in CASES:
        view = view_of(name)
        for kind, texts in (("before", view.sources), ("after", build_change((proposal_of(name),), view).files)):
            scripts.append(tmp_path / f"{name}-{kind}.py")
            scripts[-1].write_bytes(texts[f"{ROOT}/before.py"].encode())
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, *map(str, scripts)], capture_output=True, text=True, check=True, timeout=120
    )
    found = json.loads(done.stdout)
    for before, after in zip(scripts[::2], scripts[1::2], strict=True):
        assert found[str(before)][0], f"{before.name} has batches"
        assert found[str(after)] == found[str(before)]


def edited(old: str, new: str):
    view = view_of("indexed_arrays")
    sources = {path: text.replace(old, new) for path, text in view.sources.items()}
    assert sources != view.sources
    return msgspec.structs.replace(view, sources=sources)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("self.labels[index]", "self.labels[index] + 1", "not plain rows"),
        ("self.labels[index]", "self.labels[index % 7]", "not plain rows"),
        ("self.labels[index]", "self.labels[self.order[index]]", "not plain rows"),
        ("        return torch", "        index = -index; return torch", "not plain rows"),
        ("(Dataset)", "(Other)", "not plain rows"),
        ("__len__", "__getitems__", "not plain rows"),
        ("len(train_loader), len", "train_loader.batch_size, len", "train_loader.batch_size"),
        ("    print(", "    train_loader.sampler.set_epoch(1)\n    print(", "train_loader.sampler"),
    ],
)
def test_it_refuses_what_is_more_than_rows_and_programs_that_read_what_changes(old, new, reason):
    with pytest.raises(CannotEdit, match=reason):
        build_change((proposal_of("indexed_arrays"),), edited(old, new))


def test_a_batch_size_of_the_configuration_is_no_reason():
    view = edited("loss = None", "loss = config.batch_size")
    assert build_change((proposal_of("indexed_arrays"),), view).files
