"""Whole runs in equivalence mode of small programs of every shape."""

import json
import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.torch

DRIVER = Path(__file__).parents[1] / "fixtures" / "equivalence" / "driver.py"
ALL = ["float64", "plain", "ulp", "bf16"]
REPLAYED = {"steps": 12, "captures": 2, "replay": ALL}
START = """
import torch, random
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.randn(256, 8), torch.randint(0, 3, (256,)))
"""


@pytest.fixture(scope="module")
def driver():
    process = subprocess.Popen(
        [sys.executable, str(DRIVER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    yield process
    process.stdin.close()
    process.wait(timeout=60)


@pytest.fixture
def execute(driver, tmp_path):
    """Run a program; returns (exit code, result or None, its output)."""

    def run(source, config, *, name="run"):
        folder = tmp_path / name
        folder.mkdir()
        script = folder / "program.py"
        script.write_text(START + textwrap.dedent(source))
        job = {"config": config, "script": str(script), "folder": str(folder), "env": {}}
        driver.stdin.write(json.dumps(job) + "\n")
        driver.stdin.flush()
        code = int(driver.stdout.readline())
        result = folder / "equivalence-0.json"
        return code, json.loads(result.read_text()) if result.exists() else None, (folder / "stderr.txt").read_text()

    return run


def plain_errors(result):
    """Largest distance between the recording and its own plain replay, over gradients and updates."""
    plain = [one for one in result["replays"] if one["variant"] == "plain"]
    assert plain
    return [one["to_capture"]["gradient"] for one in plain] + [u["error"] for one in plain for u in one["updates"]]


TWO_OPTIMIZERS = """
make, judge = nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 1))
d_opt = torch.optim.Adam(judge.parameters(), lr=1e-3)
g_opt = torch.optim.Adam(make.parameters(), lr=1e-3)
for epoch in range(20):
    for real, _ in DataLoader(data, batch_size=32, shuffle=True):
        fake = make(torch.randn(len(real), 4))
        d_opt.zero_grad()
        (F.softplus(judge(fake.detach())).mean() + F.softplus(-judge(real)).mean()).backward()
        d_opt.step()
        g_opt.zero_grad()
        F.softplus(-judge(fake)).mean().backward()
        g_opt.step()
"""


def test_two_optimizers_per_step_are_replayed_to_the_bit(execute):
    """The critic's weights change in the middle of the window and are put back there; the noise is drawn again."""
    code, result, output = execute(TWO_OPTIMIZERS, REPLAYED)
    assert (code, result["faults"]) == (0, []), output
    assert set(plain_errors(result)) == {0.0}
    arbiter = [one["to_capture"]["gradient"] for one in result["replays"] if one["variant"] == "float64"]
    assert 0 < max(arbiter) < 1e-5


def test_a_critic_that_steps_more_often_than_the_generator(execute):
    source = TWO_OPTIMIZERS.replace(
        "        g_opt.zero_grad()", "        count += 1\n        if count % 3: continue\n        g_opt.zero_grad()"
    )
    code, result, output = execute("count = 0\n" + source, REPLAYED)
    assert (code, result["faults"]) == (0, []), output
    assert set(plain_errors(result)) == {0.0}
    assert result["rhythm"][-1][:3] == [4, 3, 4]


def test_evaluation_in_between_is_neither_captured_nor_fed(execute):
    """A validation loader with its own batches runs every third step, in the middle of replays too."""
    source = """
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.5), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train, held = DataLoader(data, batch_size=32, shuffle=True), DataLoader(TensorDataset(*data[:64]), batch_size=64)
    step = 0
    for epoch in range(20):
        for x, y in train:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            step += 1
            if step % 3 == 0:
                model.eval()
                for x, y in held:
                    assert len(x) == 64
                    if step % 2:
                        with torch.no_grad():
                            model(x)
                    else:
                        model(x)
                model.train()
    """
    code, result, output = execute(source, REPLAYED)
    assert (code, result["faults"]) == (0, []), output
    assert len(result["replays"]) == 2 * len(ALL)
    assert set(plain_errors(result)) == {0.0}


def test_a_closure_is_said_and_not_replayed(execute):
    source = """
    weight = torch.zeros(8, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight], lr=0.1)
    def closure():
        optimizer.zero_grad()
        loss = ((data.tensors[0] @ weight) ** 2).mean() + (weight - 1).square().sum()
        loss.backward()
        return loss
    for _ in range(50):
        optimizer.step(closure)
    """
    code, result, _ = execute(source, REPLAYED)
    assert code == 0
    assert result["closure"]
    assert result["replays"] == []
    assert len(result["losses"]) == 12
    assert all(result["losses"])


@pytest.mark.parametrize("call", ["optimizer.step(closure)", "optimizer.step(closure=closure)"])
def test_a_closure_that_is_evaluated_once_is_replayed_like_any_step(execute, call):
    """Adam and the like evaluate it before their update, as Lightning has it."""
    source = f"""
    model = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5), nn.Linear(16, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for epoch in range(20):
        for x, y in DataLoader(data, batch_size=32, shuffle=True):
            def closure():
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                return loss
            assert {call} > 0
    """
    code, result, output = execute(source, REPLAYED)
    assert (code, result["faults"]) == (0, []), output
    assert not result["closure"]
    assert len(result["replays"]) == 2 * len(ALL)
    assert set(plain_errors(result)) == {0.0}
    assert all(entry["updates"][0]["error"] == 0 for entry in result["replays"] if entry["variant"] == "plain")


def test_an_optimizer_that_leaves_its_closure_out_is_not_replayed(execute):
    source = """
    class Lazy(torch.optim.SGD):
        def step(self, closure=None):
            return super().step()
    model = nn.Linear(8, 3)
    optimizer = Lazy(model.parameters(), lr=0.1)
    for epoch in range(20):
        for x, y in DataLoader(data, batch_size=32):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step(lambda: None)
    """
    code, result, output = execute(source, REPLAYED)
    assert (code, result["faults"]) == (0, []), output
    assert result["closure"]
    assert result["replays"] == []


def test_gradient_accumulation_is_one_step_with_several_batches(execute):
    source = """
    model = nn.Linear(8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(40):
        for n, (x, y) in enumerate(DataLoader(data, batch_size=32, shuffle=True)):
            (F.cross_entropy(model(x), y) / 4).backward()
            if n % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
    """
    _, result, _ = execute(source, REPLAYED)
    assert {tuple(step[:3]) for step in result["rhythm"]} == {(4, 4, 1)}
    assert set(plain_errors(result)) == {0.0}


LINEAR = """
model = nn.Linear(8, 3)
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(40):
    for x, y in DataLoader(data, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
"""


def test_an_unseeded_program_repeats_itself_and_another_offset_is_another_seed(execute):
    runs = [
        execute(LINEAR, {"steps": 8, "seed_offset": offset}, name=f"run{n}")[1] for n, offset in enumerate((0, 0, 1))
    ]
    assert runs[0]["losses"] == runs[1]["losses"]
    assert runs[0]["hash_end"] == runs[1]["hash_end"]
    assert runs[0]["losses"] != runs[2]["losses"]


def test_seeds_that_the_program_sets_are_shifted(execute):
    source = """
    import numpy as np
    torch.manual_seed(1); random.seed(2); np.random.seed(3)
    print(torch.initial_seed(), random.random(), np.random.rand(), np.random.default_rng(4).random())
    """
    _, _, output = execute(source, {"steps": 5, "seed_offset": 1000})
    values = [float(value) for value in output.split()]
    draws = (random.Random(1002).random(), np.random.RandomState(1003).rand(), np.random.default_rng(1004).random())  # noqa: S311
    assert values == [1001, *draws]


def test_compiled_code_is_told_to_draw_as_eager_code(execute):
    code, _, output = execute("import torch._inductor.config as c\nprint('fallback', c.fallback_random)", {"steps": 5})
    assert (code, output.strip()) == (0, "fallback True")


def test_a_program_that_cannot_live_in_fp64_says_so(execute):
    source = LINEAR.replace("model = nn.Linear(8, 3)", "model = Strict(8, 3)")
    strict = """
    class Strict(nn.Linear):
        def forward(self, x):
            if self.weight.dtype != torch.float32:
                raise TypeError("only float32 is supported")
            return super().forward(x)
    """
    code, result, _ = execute(textwrap.dedent(strict) + source, REPLAYED)
    assert code == 1
    assert result["crash"] == "TypeError: only float32 is supported"
    assert result["complete"]
    assert result["replays"] == []


def test_no_code_of_the_program_runs_after_the_end(execute):
    source = """
    import atexit
    atexit.register(lambda: print("atexit ran"))
    try:
        exec(LINEAR)
    except BaseException:
        print("caught")
    finally:
        print("finally ran")
    """
    code, result, output = execute(f"LINEAR = {LINEAR!r}\n" + textwrap.dedent(source), {"steps": 8})
    assert (code, result["steps"], output) == (0, 8, "")


def test_our_own_fault_leaves_the_program_to_itself(execute):
    """A batch that cannot be copied ends our part; the program trains to its own end and exit code."""
    source = """
    class Batch:
        def __init__(self, items):
            self.x = torch.stack([x for x, _ in items]); self.y = torch.stack([y for _, y in items])
        def __copy__(self):
            raise RuntimeError("not copyable")
    model = nn.Linear(8, 3)
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        for batch in DataLoader(data, batch_size=32, collate_fn=Batch):
            optimizer.zero_grad()
            F.cross_entropy(model(batch.x), batch.y).backward()
            optimizer.step()
    print("trained")
    raise SystemExit(0)
    """
    _, result, output = execute(source, {"steps": 20, "captures": 1})
    assert "trained" in output
    assert ["not copyable" in fault for fault in result["faults"]] == [True]
    assert not result["complete"]


def test_a_process_that_trains_nothing_leaves_nothing(execute):
    code, result, output = execute("print(len(list(DataLoader(data, batch_size=64))))", {"steps": 5})
    assert (code, result, output.strip()) == (0, None, "4")


def test_a_program_that_ends_first_says_how_far_it_came(execute):
    _, result, _ = execute(LINEAR.replace("range(40)", "range(1)"), {"steps": 20})
    assert (result["steps"], result["complete"], len(result["losses"])) == (8, False, 8)
