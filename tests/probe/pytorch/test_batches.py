"""Counting the samples of a batch, whatever people put into one."""

import pytest

torch = pytest.importorskip("torch")

from pitstop.probe.pytorch.batches import SampleCounter  # noqa: E402

pytestmark = pytest.mark.torch

IMAGE = torch.zeros(3, 8, 8)


@pytest.mark.parametrize(
    ("batch", "expected", "samples"),
    [
        (torch.zeros(16, 2), 16, 16),
        ([torch.zeros(16, 3, 8, 8), torch.zeros(16)], 16, 16),
        ({"input_ids": torch.zeros(4, 128), "labels": torch.zeros(4)}, 4, 4),
        ([{"a": torch.zeros(5, 2)}, torch.zeros(5)], None, 5),
        ([[IMAGE] * 6, [{"boxes": torch.zeros(2, 4)}] * 6], 6, 6),  # detection: images are not stacked
        ([IMAGE] * 6, 6, 6),
        ([torch.zeros(7, 2), torch.zeros(7)], 16, 7),  # the last, smaller batch
        (["a", "b"], None, 2),
        ([torch.tensor(1.0), torch.zeros(9, 2)], None, 9),
        (42, 8, 0),
        (None, None, 0),
    ],
)
def test_samples_of_a_batch(batch, expected, samples):
    counter = SampleCounter(torch, expected)
    assert [counter.count(batch) for _ in range(3)] == [samples] * 3


def test_batches_of_changing_size_are_counted_anew():
    counter = SampleCounter(torch, 8)
    assert [counter.count([torch.zeros(n, 2), torch.zeros(n)]) for n in (8, 8, 3)] == [8, 8, 3]


def test_batches_of_changing_shape_are_counted_anew():
    counter = SampleCounter(torch, 8)
    assert counter.count({"x": torch.zeros(8, 2)}) == 8
    assert counter.count([torch.zeros(8, 2)]) == 8
    assert counter.count({"y": torch.zeros(5, 2)}) == 5
