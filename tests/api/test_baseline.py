"""How many steps a real program makes, looked up with real runs of it."""

import sys
from pathlib import Path

import pytest

from pitstop.api import baseline
from pitstop.api.baseline import measure_length, observe_baseline
from pitstop.api.bench import Bench
from pitstop.measure.sandbox import plan_sandbox
from pitstop.records import Program

PROGRAM = """
import sys
import torch

model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(int(sys.argv[1])):
    if step == int(sys.argv[2]):
        sys.exit("no more")
    loss = model(torch.randn(8, 16)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.torch
@pytest.mark.parametrize(
    ("arguments", "wanted", "found", "ended"),
    [(("4000", "-1"), 600, 600, False), (("500", "-1"), 900, 500, True), (("4000", "500"), 900, 500, False)],
    ids=["goes on beyond", "ends before", "fails before"],
)
def test_the_length_is_what_a_run_of_the_program_shows(tmp_path: Path, monkeypatch, *, arguments, wanted, found, ended):
    monkeypatch.setattr(baseline, "_OBSERVE_NS", 1)  # the observed run ends after so many steps
    monkeypatch.setattr(baseline, "_OBSERVE_STEPS", 200)
    (tmp_path / "train.py").write_text(PROGRAM)
    program = Program(argv=(sys.executable, "train.py", *arguments), cwd=str(tmp_path))
    folder = tmp_path / "run"
    folder.mkdir()
    plan = plan_sandbox(project_root=tmp_path, scratch=tmp_path / "scratch")
    bench = Bench(program, root=tmp_path, folder=folder, plan=plan, tolerate_load=True)
    bench.baseline_wall_s = 60.0
    observed = observe_baseline(bench, budget_s=120.0, cpus=2)
    assert not observed.length.ended
    length = measure_length(bench, baseline=observed, steps=wanted)
    assert length.ended is ended
    assert length.steps == pytest.approx(found, abs=2)
    assert length.wall_ns > 0
