"""How long a trial may take."""

import time
from pathlib import Path

import pytest

from pitstop.api.bench import Bench
from pitstop.measure.sandbox import SandboxPlan
from pitstop.records import Program


@pytest.mark.parametrize(
    ("left_s", "baseline_s", "timeout_s"),
    [
        (None, 5.0, 180.0),
        (1000.0, 5.0, 180.0),
        (120.0, 5.0, 120.0),
        (-20.0, 5.0, 90.0),
        (400.0, 60.0, 240.0),
        (10.0, 100.0, 150.0),
    ],
    ids=["no budget", "ample", "less left than a hang is given", "none left", "a long program", "and little left"],
)
def test_a_trial_that_hangs_does_not_outlive_the_budget_by_much(tmp_path, left_s, baseline_s, timeout_s):
    program = Program(argv=("python", "x.py"), cwd=str(tmp_path))
    bench = Bench(program, root=Path(tmp_path), folder=tmp_path, plan=SandboxPlan(kind="none", scratch=str(tmp_path)))
    bench.baseline_wall_s = baseline_s
    bench.ends_s = None if left_s is None else time.monotonic() + left_s
    assert bench._timeout_s() == pytest.approx(timeout_s, abs=1.0)
