"""Real programs with a fault each: `pitstop profile` finds it, and nothing in the same program without it."""

import json
import sys

import pytest

PYTHON = sys.executable
PROGRAM = """
import itertools, time
import torch

def steps(least, seconds=0.6):
    end = time.monotonic() + seconds  # shares of a shorter time are not relied on
    return itertools.takewhile(lambda step: step < least or time.monotonic() < end, itertools.count())

{before}
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)){dtype}
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
x, y = torch.randn(256, 64){dtype}, torch.randint(0, 8, (256,))
for step in steps(60):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained")
"""


def faults(pitstop, tmp_path, source: str) -> dict[str, dict]:
    (tmp_path / "train.py").write_text(source)
    done = pitstop("profile", "--json", "out.json", "--", PYTHON, "train.py")
    assert done.returncode == 0, done.stderr
    assert "trained" in done.stdout
    return {found["fault"]: found for found in json.loads((tmp_path / "out.json").read_bytes())["findings"]}


@pytest.mark.torch
@pytest.mark.parametrize(
    ("before", "dtype", "fault"),
    [
        ("", "", None),
        ("torch.autograd.set_detect_anomaly(True)", "", "anomaly-detection"),
        ("", ".double()", "float64-parameters"),
        ("import sys; sys.settrace(lambda *event: None)", "", "tracer-attached"),
        pytest.param("import cProfile; cProfile.Profile().enable()", "", "tracer-attached", marks=pytest.mark.slow),
        ("import os; torch.set_num_threads(4 * os.cpu_count())", "", "threads-over-cpus"),
    ],
    ids=["healthy", "anomaly", "float64", "settrace", "cProfile", "threads"],
)
def test_a_fault_of_the_whole_process_is_found(pitstop, tmp_path, before, dtype, fault):
    found = faults(pitstop, tmp_path, PROGRAM.format(before=before, dtype=dtype))
    assert set(found) == ({fault} if fault else set())


EACH_STEP = """
import gc, io, logging, time

class Slow(io.StringIO):
    def flush(self):
        time.sleep(0.002)

logging.getLogger("mine").addHandler(logging.StreamHandler(Slow()))
"""


@pytest.mark.torch
@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("gc.collect()", "collections-each-step"),
        pytest.param("logging.getLogger('mine').error('step %d', step)", "logging-each-step", marks=pytest.mark.slow),
    ],
)
def test_what_is_called_in_each_step_is_found_with_its_line(pitstop, tmp_path, line, fault):
    source = PROGRAM.format(before=EACH_STEP, dtype="") + "\n"
    source = source.replace("    optimizer.step()\n", f"    optimizer.step()\n    {line}\n")
    number = next(number for number, text in enumerate(source.splitlines(), start=1) if text == f"    {line}")
    found = faults(pitstop, tmp_path, source)
    assert set(found) == {fault}
    assert f"train.py:{number}" in found[fault]["evidence"][0]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("line", "keeps"),
    [("losses.append(loss)", True), ("total = total + loss", True), ("losses.append(loss.item())", False)],
)
def test_graphs_that_are_kept_are_found(pitstop, tmp_path, line, keeps):
    source = PROGRAM.format(before="losses, total = [], 0", dtype="").replace("steps(60)", "range(200)")
    source = source.replace("(256, 64)", "(8, 64)").replace("(256,)", "(8,)")
    found = faults(pitstop, tmp_path, source.replace("    optimizer.step()\n", f"    optimizer.step()\n    {line}\n"))
    assert set(found) == ({"graphs-kept"} if keeps else set())


LOOP = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = torch.nn.RNNCell(1, 8), torch.nn.Linear(8, 8)

    def forward(self, x):
        h = torch.zeros(len(x), 8)
        for t in range(x.size(1)):
            h = self.cell(x[:, t : t + 1], h)
        return self.out(h)
"""


@pytest.mark.torch
def test_a_loop_over_time_in_python_is_found_with_its_line(pitstop, tmp_path):
    source = PROGRAM.format(before=LOOP, dtype="").replace("model = torch.nn.Sequential(", "model = Net()\n(")
    found = faults(
        pitstop, tmp_path, source.replace("torch.randn(256, 64)", "torch.randn(16, 64)").replace("(256,)", "(16,)")
    )
    assert set(found) == {"python-loop-in-model"}
    assert "train.py:18" in found["python-loop-in-model"]["next_action"]


@pytest.mark.torch
def test_tensors_in_memory_behind_a_loader_are_found_and_workers_are_not_advised(pitstop, tmp_path):
    """One thread and large batches: taking hundreds of samples one by one outweighs the model under any load."""
    source = (
        PROGRAM.format(before="torch.set_num_threads(1)", dtype="")
        .replace("(256, 64)", "(4096, 64)")
        .replace("(256,))", "(4096,))")
        .replace(
            "for step in steps(60):",
            "loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=512, shuffle=True)\n"
            "for x, y in (batch for epoch in steps(10) for batch in loader):",
        )
    )
    found = faults(pitstop, tmp_path, source)
    assert set(found) == {"in-memory-tensors"}
    assert "train.py:14" in found["in-memory-tensors"]["evidence"][0]


@pytest.mark.torch
@pytest.mark.slow
def test_memory_refused_in_the_first_step_is_a_finding_with_a_remedy(pitstop, tmp_path):
    """An address-space limit, as `ulimit -v` sets it: the allocator's refusal is the program's own error."""
    source = PROGRAM.format(before="import resource", dtype="").replace(
        "for step in steps(60):",
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), resource.RLIM_INFINITY))\n"
        "for step in steps(60):\n    torch.empty(1 << 31)",
    )
    (tmp_path / "train.py").write_text(source)
    done = pitstop("profile", "--json", "out.json", "--", PYTHON, "train.py")
    assert done.returncode == 1
    (found,) = json.loads((tmp_path / "out.json").read_bytes())["findings"]
    assert found["fault"] == "out-of-memory"
    assert "can't allocate memory" in found["evidence"][0]
    assert "The program ran out of memory" in " ".join(done.stderr.split())
