"""Programs of several processes, from the command line: `examples/ranks` as it is."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn")
pytestmark = pytest.mark.torch

EXAMPLE = Path(__file__).parents[2] / "examples" / "ranks" / "train.py"
LAUNCH = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"]


def pitstop(folder, *arguments, timeout_s=120):
    shutil.copy(EXAMPLE, folder)
    env = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    return subprocess.run(
        [sys.executable, "-m", "pitstop", *arguments], cwd=folder, env=env, capture_output=True, text=True,
        timeout=timeout_s, check=False,
    )  # fmt: skip


def test_a_profile_knows_both_ranks_and_what_they_wait_for(tmp_path):
    done = pitstop(tmp_path, "profile", "--json", "out.json", "--", *LAUNCH, "--epochs", "3", "--width", "16")
    assert done.returncode == 0, done.stderr
    assert "epoch 3: accuracy" in done.stdout
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["steps"]["micro_steps"] == 4
    assert [rank["rank"] for rank in result["ranks"]] == [0, 1]
    for rank in result["ranks"]:
        assert 0 < rank["communication_ns"] < rank["step_ns"]
        assert rank["reductions_per_step"] == pytest.approx(4)
    assert result["ledger"]["communication"] > 0
    assert sum(result["ledger"].values()) == pytest.approx(1)
    found = {one["fault"] for one in result["findings"]}
    assert "unused-parameters-searched" in found
    assert "2 processes train together" in done.stderr


@pytest.mark.slow
def test_a_tune_times_trials_of_all_ranks_and_hands_over_nothing_unchecked(tmp_path):
    done = pitstop(
        tmp_path,
        *("tune", "--tolerate-load", "--budget", "180s", "--only", "threads,fused-optimizer", "--json", "out.json"),
        *("--", *LAUNCH, "--epochs", "400"),
        timeout_s=400,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out.json").read_text())
    assert [rank["rank"] for rank in result["baseline"]["ranks"]] == [0, 1]
    assert any(verdict["speedup"] is not None for verdict in result["verdicts"])
    assert result["prescription"]["treatments"] == []
    usable = len(os.sched_getaffinity(0))
    assert usable > 3 or "threads" in result["cannot_apply"]  # each rank has one processor, which is what it uses
    assert (tmp_path / "train.py").read_bytes() == EXAMPLE.read_bytes()
