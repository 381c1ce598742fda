"""Distances between two computations of a step."""

import pytest

torch = pytest.importorskip("torch")
from pitstop.probe.equivalence_compare import apart, update_apart  # noqa: E402

pytestmark = pytest.mark.torch

REFERENCE = [torch.tensor([3.0, 0.0]), torch.tensor([0.0, 4.0])]


def test_equal_is_zero_apart():
    found = apart([1.0], REFERENCE, [1.0], REFERENCE)
    assert (found["loss"], found["gradient"], found["cosine"], found["scale"]) == (0.0, 0.0, 1.0, 1.0)


def test_half_the_gradient():
    found = apart([0.5], [g / 2 for g in REFERENCE], [1.0], REFERENCE)
    assert found["gradient"] == pytest.approx(0.5)
    assert found["scale"] == pytest.approx(0.5)
    assert found["cosine"] == pytest.approx(1.0)
    assert found["loss"] == pytest.approx(0.5)


def test_a_missing_gradient_is_an_error_of_its_own_size():
    found = apart([1.0], [REFERENCE[0], None], [1.0], REFERENCE)
    assert found["tensors"] == [0.0, 1.0]
    assert found["gradient"] == pytest.approx(4 / 5)


def test_a_gradient_where_there_should_be_none_is_not_overlooked():
    assert apart([1.0], REFERENCE, [1.0], [REFERENCE[0], None])["tensors"][1] > 1e6


def test_nan_is_none():
    found = apart([float("nan")], [torch.tensor([float("nan"), 0.0]), REFERENCE[1]], [1.0], REFERENCE)
    assert found["loss"] is found["gradient"] is found["tensors"][0] is None


def test_an_update_is_measured_against_its_own_size():
    weights = [torch.full((10,), 100.0)]
    change = [torch.full((10,), 1e-2)]
    error, floor = update_apart([change[0] * 1.1], change, weights, torch.finfo(torch.float32).eps)
    assert error == pytest.approx(0.1)
    assert floor == pytest.approx(1.2e-3, rel=0.05)  # 100 * 1.2e-7 / 1e-2


def test_an_update_that_did_not_happen():
    nothing = [torch.zeros(3)]
    assert update_apart(nothing, nothing, [torch.ones(3)], 1e-7) == (0.0, 0.0)
    assert update_apart(nothing, [torch.ones(3)], [torch.ones(3)], 1e-7)[0] == pytest.approx(1.0)
