"""What is found out off the hot path: the size of a graph, denormal numbers, backend settings, dynamo's reasons."""

import gc
from types import SimpleNamespace

import pytest
from probed import run_probed

from pitstop.probe.pytorch import backends, denormals, dynamo_reasons, kept_graphs
from pitstop.probe.pytorch.graph_size import MAX_NODES, graph_size

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_a_graph_is_as_large_as_its_operations_and_parameters():
    weight, bias = torch.ones(4, 4, requires_grad=True), torch.ones(4, requires_grad=True)
    hidden = torch.ones(2, 4)
    for _ in range(10):
        hidden = torch.relu(torch.add(torch.mul(hidden, weight[0]), bias))
    assert graph_size(hidden.sum()) == (10 * 4 + 1, 2)  # mul, add, relu and the index of the weight; sum
    assert graph_size(torch.ones(1)) == (None, None)
    assert graph_size("no tensor") == (None, None)


def test_a_graph_that_is_too_large_is_not_walked():
    value = torch.ones(1, requires_grad=True)
    total = value
    for _ in range(MAX_NODES + 1):
        total = total + 1
    assert graph_size(total) == (None, None)


def test_denormals_are_counted_without_an_operation():
    numbers = torch.ones(1024)
    numbers[:64] = 1e-40
    assert denormals.count(torch, numbers) == (128, 64)
    numbers[-64:] = -1e-40
    assert denormals.count(torch, numbers) == (128, 128)
    assert denormals.count(torch, torch.zeros(1024)) == (128, 0)
    assert denormals.count(torch, torch.nn.Parameter(torch.full((64,), 2e-38))) == (64, 0)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(8),
        torch.zeros(64, 64).t()[1:],
        torch.zeros(512, dtype=torch.float64),
        torch.zeros(512, device="meta"),
        torch.zeros(512).to_sparse(),
        torch.zeros(512).requires_grad_().expand(4, 512),
    ],
    ids=["small", "strided", "float64", "meta", "sparse", "expanded"],
)
def test_what_cannot_be_read_plainly_is_left_alone(tensor):
    assert denormals.count(torch, tensor) == (0, 0)


def test_a_storage_that_was_given_back_is_not_read():
    tensor = torch.zeros(512)
    tensor.untyped_storage().resize_(0)
    assert denormals.count(torch, tensor) == (0, 0)


def test_settings_are_those_of_the_process():
    said = backends.describe(torch)
    assert said["flushes_denormals"] is False
    assert said["deterministic"] is False
    assert said["matmul_precision"] == "highest"
    torch.set_flush_denormal(True)
    try:
        assert backends.flushes_denormals() is True
    finally:
        torch.set_flush_denormal(False)
    assert set(said["cpu_flags"]) <= set(backends._FLAGS)


def test_a_setting_that_torch_will_not_say_is_not_known():
    def refuses():
        raise RuntimeError("mixed use of old and new settings")

    fake = SimpleNamespace(
        backends=SimpleNamespace(cudnn=SimpleNamespace(benchmark=True)),
        are_deterministic_algorithms_enabled=lambda: True,
        get_float32_matmul_precision=refuses,
    )
    said = backends.describe(fake)
    assert (said["deterministic"], said["cudnn_benchmark"]) == (True, True)
    assert (said["matmul_precision"], said["allow_tf32"], said["cudnn_deterministic"]) == (None, None, None)


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("Failed to trace builtin\n  Explanation: long", "Failed to trace builtin"),
        ("generic_jump TensorVariable()", "data-dependent branching: an `if` or loop asks a tensor for its value"),
        ("0/0: k == 0.3               # y = x * k  # a.py:5 in f", "0/0: k == 0.3"),
        ("", ""),
    ],
)
def test_a_reason_is_one_line(reason, line):
    assert dynamo_reasons._first_line(reason) == line


COMPILED = """
import torch

@torch.compile(backend="eager")
def scaled(x, factor):
    y = x * factor
    print("in between")
    return y.sum()

weight = torch.nn.Parameter(torch.ones(70))
optimizer = torch.optim.Adam([weight])
for step in range(20):
    optimizer.zero_grad()
    with torch.no_grad():
        weight[:] = 1e-40
    scaled(weight, 0.1 * step).backward()
    optimizer.step()
"""


def test_a_compiled_program_says_where_its_graph_broke_and_why_it_compiled_again(tmp_path):
    (tmp_path / "train.py").write_text(COMPILED)
    done = run_probed("train.py", folder=tmp_path / "probe", cwd=tmp_path)
    assert (done.exit_code, done.reading.faults) == (0, ())
    assert done.stdout == "in between\n" * 20
    evidence = done.reading.evidence
    (broken,) = evidence.graph_breaks
    assert (broken.stack[-1].path, broken.stack[-1].line) == (str(tmp_path / "train.py"), 7)
    assert "builtin" in broken.reason
    again = {seen.stack[-1].function: seen for seen in evidence.recompiles}
    assert "factor" in again["scaled"].reason
    assert again["scaled"].count >= 1
    seen = {(one.of, one.step): (one.numbers, one.denormal) for one in evidence.denormals}
    assert seen["gradients", 16] == (64, 0)
    assert seen["parameters", 16][0] == 64
    assert evidence.backwards[0].operations is not None
    assert evidence.environment.flushes_denormals is False


def kept(make, steps=200):
    """What is seen of a program whose steps run `make(step)`."""
    due, written = [], []
    clock = SimpleNamespace(steps=0, after=lambda steps, callback: due.append((clock.steps + steps, callback)))
    write = lambda kind, **fields: written.append((kind, fields))  # noqa: E731
    session = SimpleNamespace(is_worker=False, sightings=SimpleNamespace(write=write))
    kept_graphs.install(SimpleNamespace(torch=torch, clock=clock, session=session))
    gc.collect()
    for step in range(1, steps + 1):
        make(step)
        clock.steps = step
        for item in [item for item in due if item[0] <= step]:
            due.remove(item)
            item[1]()
    return written


def loss():
    return torch.ones(1, requires_grad=True).exp().sum()


def test_losses_that_are_kept_are_counted_three_times_and_nothing_is_written_else():
    losses = []
    seen = kept(lambda _step: losses.append(loss()))
    assert [fields["step"] for _kind, fields in seen] == [68, 100, 164]
    first, second, third = (fields["tensors"] for _kind, fields in seen)
    assert (second - first, third - second) == (32, 64)
    assert kept(lambda _step: losses.append(loss().item())) == []
    assert kept(lambda _step: losses.append(loss().detach())) == []


def test_a_sum_that_holds_all_graphs_is_measured_by_its_chain():
    total = [torch.zeros(())]

    def add(_step):
        total[0] = total[0] + loss()

    seen = kept(add)
    chains = [fields["chain"] for _kind, fields in seen]
    assert chains == [68, 100, 164]


def test_a_list_that_is_emptied_is_not_kept():
    losses = []

    def episode(step):
        losses.append(loss())
        if step % 10 == 0:
            losses.clear()

    assert kept(episode) == []
