"""Finding, copying and forcing what a program trains."""

import gc

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from pitstop.probe.equivalence_state import TrainedState, hyperparameters, set_hyperparameters  # noqa: E402

pytestmark = pytest.mark.torch


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 36, 2))


def state_of(*modules, lr=0.1):
    optimizer = torch.optim.SGD([p for module in modules for p in module.parameters()], lr=lr)
    return TrainedState(torch, [optimizer])


def test_parameters_and_buffers_are_found_without_being_told():
    model = network()
    state = state_of(model)
    assert len(state.named) == len(model.state_dict())
    copy = state.copy()
    model[0].weight.data.zero_()
    model[1].running_mean.fill_(9)
    state.force(copy)
    assert model[0].weight.abs().sum() > 0
    assert model[1].running_mean.abs().sum() == 0


def test_a_copy_that_is_not_trained_is_left_alone():
    """An average of the weights (EMA) holds no tensor of the optimizer."""
    import copy

    model = network()
    average = copy.deepcopy(model)
    state = state_of(model)
    assert not any(place.owner is average for place in state.named.values())


def test_a_compiled_module_has_the_same_names():
    model = network()
    plain = state_of(model).copy()
    compiled = torch.compile(network(seed=1), backend="eager")
    state = state_of(compiled)
    assert list(state.copy()) == list(plain)
    state.force(plain)
    assert torch.equal(compiled._orig_mod[0].weight, model[0].weight)


def test_layout_survives_forcing():
    recorded = state_of(network()).copy()
    model = network(seed=1).to(memory_format=torch.channels_last)
    state_of(model).force(recorded)
    assert model[0].weight.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(model[0].weight, next(iter(recorded.values())))


def test_fp64_and_back():
    model = network()
    state = state_of(model)
    recorded = state.copy()
    before = state.hash()
    state.force(recorded, torch.float64)
    assert {p.dtype for p in model.parameters()} == {torch.float64}
    assert model[1].num_batches_tracked.dtype == torch.int64
    model(torch.randn(2, 3, 8, 8, dtype=torch.float64)).sum().backward()
    state.force(recorded)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert model[0].weight.grad.dtype == torch.float32
    assert state.hash() == before


def test_tensors_in_no_module_are_trained_too():
    loose = torch.randn(3, requires_grad=True)
    state = TrainedState(torch, [torch.optim.SGD([loose], lr=0.1)])
    assert list(state.named) == ["loose.0"]
    state.force({"loose.0": torch.zeros(3)})
    assert loose.abs().sum() == 0


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="do not match"):
        state_of(network()).force({"0.weight": torch.zeros(3)})


def test_modules_in_a_frozen_generation_are_found():
    model = network()
    gc.freeze()
    assert len(state_of(model).named) == len(model.state_dict())


def test_one_changed_bit_changes_the_hash():
    model = network()
    state = state_of(model)
    before = state.hash()
    model[3].bias.data[0] = torch.nextafter(model[3].bias.data[0], torch.tensor(9.0))
    assert state.hash() != before


def test_settings_leave_out_how_and_keep_what():
    optimizer = torch.optim.AdamW(network().parameters(), lr=1e-3, weight_decay=0.1, amsgrad=True, foreach=True)
    (group,) = hyperparameters(optimizer)
    assert group["lr"] == 1e-3
    assert group["betas"] == [0.9, 0.999]
    assert group["amsgrad"] == 1.0
    assert not {"foreach", "fused", "params"} & set(group)


def test_settings_go_back_with_their_types():
    optimizer = torch.optim.AdamW(network().parameters(), lr=torch.tensor(1e-3), betas=(0.8, 0.9), foreach=False)
    saved = hyperparameters(optimizer)
    optimizer.param_groups[0]["lr"].fill_(1.0)
    optimizer.param_groups[0]["betas"] = (0.0, 0.0)
    set_hyperparameters(optimizer, saved)
    group = optimizer.param_groups[0]
    assert group["lr"].item() == pytest.approx(1e-3)
    assert group["betas"] == (0.8, 0.9)
    assert group["amsgrad"] is False
