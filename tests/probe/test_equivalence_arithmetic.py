"""The program in another arithmetic."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

from pitstop.probe.equivalence_arithmetic import Arithmetic  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.fixture
def arithmetic():
    entered = []

    def enter(variant):
        one = Arithmetic(torch, variant)
        one.enter()
        entered.append(one)
        return one

    yield enter
    for one in entered:
        one.leave()
    assert torch.get_default_dtype() == torch.float32


def test_fp64_reaches_everything_that_meets_a_torch_function(arithmetic):
    """Floats of the program's own making, casts back to float, and autocast do not leave fp64."""
    model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8)).double()
    inputs = torch.randn(4, 8)
    arithmetic("float64")
    with torch.autocast("cpu", torch.bfloat16):
        out = model(inputs)
    assert out.dtype == torch.float64
    out = out + torch.ones(8, dtype=torch.float32)
    assert out.float().dtype == out.to(torch.float32).dtype == torch.zeros(3).dtype == torch.float64
    F.mse_loss(out, torch.zeros(4, 8)).backward()
    assert model[0].weight.grad.dtype == torch.float64


def test_in_place_sums_of_the_program_survive_fp64(arithmetic):
    total = torch.zeros(())
    arithmetic("float64")
    total += torch.ones(()) / 3
    total.add_(torch.tensor(1.0))
    assert total.item() == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    "write",
    [
        lambda kept, new: kept.lerp_(new, 0.5),
        lambda kept, new: kept.scatter_add_(0, torch.zeros(3, dtype=torch.long), new),
        lambda kept, new: kept.index_add_(0, torch.tensor([0, 1, 2]), new),
        lambda kept, new: torch.mul(new, 2.0, out=kept),
    ],
    ids=["lerp_", "scatter_add_", "index_add_", "out"],
)
def test_tensors_that_the_program_keeps_and_writes_to_keep_their_type(arithmetic, write):
    """They are used again when the step, and with it fp64, is over."""
    kept, expected, new = torch.ones(3), torch.ones(3), torch.tensor([1.0, 2.0, 3.0])
    write(expected, new)
    arithmetic("float64")
    write(kept, new * 1.0)
    assert kept.dtype == torch.float32
    assert kept.tolist() == expected.tolist()


@pytest.mark.parametrize("kind", [torch.FloatTensor, torch.BFloat16Tensor, "torch.FloatTensor", torch.float32])
def test_a_cast_to_a_kind_of_tensor_stays_in_fp64(arithmetic, kind):
    arithmetic("float64")
    assert torch.ones(3).type(kind).dtype == torch.float64


@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch.randn(5, 7),
        lambda: torch.rand(100),
        lambda: torch.empty(33).normal_(2.0, 0.5),
        lambda: torch.empty(33).uniform_(-1, 1),
        lambda: torch.randn_like(torch.empty(20)),
        lambda: F.dropout(torch.ones(50), 0.4),
        lambda: torch.bernoulli(torch.full((40,), 0.3)),
        lambda: torch.randint(0, 9, (30,)).float(),
        lambda: torch.nn.init.kaiming_uniform_(torch.empty(6, 6)),
    ],
)
def test_random_draws_in_fp64_are_those_of_fp32(arithmetic, draw):
    torch.manual_seed(4)
    single, after = draw().detach(), torch.rand(1).item()
    double64 = arithmetic("float64")
    torch.manual_seed(4)
    double, after_double = draw().detach(), torch.rand(1).item()
    double64.leave()
    assert double.dtype == torch.float64
    torch.testing.assert_close(double.to(torch.float32), single, rtol=1e-6, atol=0)
    assert after_double == after


def test_products_are_rounded_to_bfloat16_forwards_and_backwards(arithmetic):
    a, b = torch.randn(16, 16, requires_grad=True), torch.randn(16, 16)
    low = (a.detach().bfloat16().float() @ b.bfloat16().float()).bfloat16().float()
    arithmetic("bf16")
    product = a @ b
    product.sum().backward()
    assert torch.equal(product, low)
    assert torch.equal(a.grad, a.grad.bfloat16().float())


def test_scalars_and_the_loss_keep_fp32_under_bfloat16(arithmetic):
    third = torch.tensor(1 / 3)
    arithmetic("bf16")
    assert (third * 1.0).item() == third.item()


def test_one_ulp_moves_every_weight_and_no_further():
    weights = torch.randn(1000)
    moved = Arithmetic(torch, "ulp").weights(weights)
    assert (moved != weights).float().mean() > 0.95
    assert ((moved - weights).abs() <= 2 * torch.finfo(torch.float32).eps * weights.abs()).all()
    assert not torch.equal(moved, Arithmetic(torch, "ulp-2").weights(weights))


def test_the_loader_works_in_the_programs_own_arithmetic(arithmetic):
    one = arithmetic("float64")
    one.pause()
    assert torch.zeros(2).dtype == torch.float32
    assert (torch.zeros(2) + torch.zeros(2)).dtype == torch.float32
    one.resume()
    assert torch.zeros(2).dtype == torch.float64
