"""Padding is told from values that only look like it."""

import pytest
import torch

from pitstop.probe.pytorch.census import Census, padding

pytestmark = pytest.mark.torch


def padded(lengths, width, pad=0):
    rows = torch.randint(3, 900, (len(lengths), width), generator=torch.Generator().manual_seed(0))
    for row, length in zip(rows, lengths, strict=True):
        row[length:] = pad
    return rows


@pytest.mark.parametrize("pad", [0, 1, -100])
def test_tokens_of_unlike_lengths(pad):
    assert padding(torch, padded([4, 12, 20, 8], 20, pad)) == (16 + 8 + 12, 80)


def test_frames_of_unlike_lengths():
    sounds = torch.rand(3, 10, 5) + 1
    sounds[0, 4:] = 0
    sounds[1, 7:] = 0
    assert padding(torch, sounds) == (9, 30)


@pytest.mark.parametrize(
    "healthy",
    [
        padded([20, 20, 20], 20),
        torch.eye(24, dtype=torch.long)[torch.arange(0, 24, 3)],  # one-hot labels
        (torch.rand(16, 40, generator=torch.Generator().manual_seed(1)) < 0.2).long(),  # many labels of few
        torch.nn.functional.pad(torch.rand(4, 20, 28) + 0.5, (4, 4, 4, 4)),  # digits with a dark border
        torch.zeros(4, 16, dtype=torch.long),
    ],
    ids=["full", "one-hot", "many-hot", "border", "nothing"],
)
def test_what_looks_like_padding_and_is_none(healthy):
    assert padding(torch, healthy)[0] == 0


@pytest.mark.parametrize(
    "other",
    [
        torch.rand(4, 20),
        torch.rand(4, 3, 8, 8),
        torch.ones(4, 3, dtype=torch.long),
        torch.ones(1, 30, dtype=torch.long),
        torch.ones(4, 30, dtype=torch.bool),
        torch.ones(2048, 1024, dtype=torch.uint8),
        torch.ones(4, 30, 2, requires_grad=True),
        torch.ones(4, 30, dtype=torch.long, device="meta"),
        torch.eye(30, dtype=torch.long).to_sparse(),
    ],
)
def test_what_is_not_searched(other):
    assert padding(torch, other) is None


def test_no_mode_of_the_program_sees_the_census():
    class Watches(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, _types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    seen: list = []
    batch = [padded([4, 12], 12), {"a": torch.rand(2)}]
    with Watches():
        census = Census(torch)
        census.add(batch)
        fields = census.fields()
    assert seen == []
    assert [leaf["path"] for leaf in fields["leaves"]] == ["[0]", "[1]['a']"]
    assert fields["leaves"][0]["padded"] == 8


def test_shapes_that_vary_are_kept_up_to_a_number():
    census = Census(torch)
    for length in range(9, 30):
        census.add(torch.ones(4, length))
    (leaf,) = census.fields()["leaves"]
    assert len(leaf["shapes"]) == 8
    assert census.fields()["batch_bytes"] == sum(16 * length for length in range(9, 30))
