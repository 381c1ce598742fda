"""Batches: copies of the same nesting, hashes of rows, moments."""

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from pitstop.probe.equivalence_data import LoaderRecord, copied, leaves  # noqa: E402

pytestmark = pytest.mark.torch

Pair = namedtuple("Pair", ["left", "right"])  # noqa: PYI024


class Graph:
    def __init__(self):
        self.x, self.name, self.size = torch.ones(3, 2), "g", 3


def test_a_copied_batch_has_the_same_nesting_and_shares_nothing():
    batch = {
        "pair": Pair(torch.zeros(2), [torch.ones(1)]),
        "ordered": OrderedDict(a=torch.ones(2)),
        "tuple": (torch.ones(1), "text", None),
        "graph": Graph(),
    }
    new = copied(torch, batch)
    assert type(new["pair"]) is Pair
    assert type(new["ordered"]) is OrderedDict
    assert new["tuple"][1:] == ("text", None)
    assert type(new["graph"]) is Graph
    batch["pair"].left.fill_(7)
    batch["graph"].x.fill_(7)
    assert new["pair"].left.sum() == 0
    assert new["graph"].x.sum() == 6


def test_layout_survives_copying():
    images = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
    assert copied(torch, images).is_contiguous(memory_format=torch.channels_last)


def test_leaves_are_tensors_arrays_and_numbers():
    assert [
        tuple(leaf.shape) for leaf in leaves(torch, {"a": np.ones((2, 3)), "b": [torch.ones(4), 5], "c": "no"})
    ] == [
        (2, 3),
        (4,),
        (),
    ]


def record_of(loader):
    record = LoaderRecord(torch, 0, loader)
    record.start_epoch()
    return record


def test_rows_are_told_apart_by_any_bit():
    data = torch.arange(12.0).reshape(4, 3)
    record = record_of(DataLoader(TensorDataset(data)))
    record.add([data], [0, 1, 2, 3])
    changed = data.clone()
    changed[2, 1] = torch.nextafter(changed[2, 1], torch.tensor(99.0))
    record.add([changed], [0, 1, 2, 3])
    rows = record.rows[0]
    assert [rows[n] == rows[n + 4] for n in range(4)] == [True, True, False, True]
    assert record.batches[0] != record.batches[1]


def test_moments_are_per_channel():
    images = torch.stack([torch.zeros(5, 2, 2), torch.ones(5, 2, 2)], 1)  # 5 images, channels 0 and 1
    record = record_of(DataLoader(TensorDataset(images)))
    record.add(images, None)
    assert record.moments[0]["sum"] == [0.0, 1.0, 0.0, 0.0]


def test_the_plan_of_an_epoch_needs_no_data():
    class Counting(torch.utils.data.Dataset):
        loaded = 0

        def __len__(self):
            return 10

        def __getitem__(self, index):
            self.loaded += 1
            return torch.tensor(index)

    dataset = Counting()
    loader = DataLoader(dataset, batch_size=3, drop_last=True, shuffle=False)
    ids, batches = LoaderRecord(torch, 0, loader).plan()
    assert (len(ids), batches, dataset.loaded) == (9, 3, 0)


def test_transforms_that_draw_are_told_from_those_that_do_not():
    class Half(torch.utils.data.Dataset):
        def __len__(self):
            return 10

        def __getitem__(self, index):
            return torch.randn(2), index

    state = torch.get_rng_state()
    assert LoaderRecord(torch, 0, DataLoader(Half())).deterministic() == [False, True]
    assert torch.equal(torch.get_rng_state(), state)


def test_a_sampler_without_end_and_a_data_set_that_refuses_are_noted():
    class Refusing(torch.utils.data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            raise KeyError(index)

    class Endless:
        def __iter__(self):
            while True:
                yield [0]

    faults = []
    summary = LoaderRecord(torch, 0, DataLoader(Refusing(), batch_sampler=Endless())).summary(faults)
    assert summary["plan_ids"] is summary["deterministic"] is None
    assert faults == ["deterministic: KeyError: 0"]
