"""`pitstop gate` on real repositories with real runs; errors are quick, comparisons are not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

IDENTITY = ("-c", "user.name=ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false")
PROGRAM = """
import time

import torch

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100_000):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
    time.sleep(DELAY)
"""


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *IDENTITY, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "train.py").write_text(PROGRAM.replace("DELAY", "0.02"))
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Train")
    return root


def gate(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pitstop", "gate", "--lang", "en", *options, "--", sys.executable, "train.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=400, check=False)


def test_nothing_to_compare_is_said_at_once(repository):
    done = gate(repository, "--json", "-")
    assert done.returncode == 2
    assert "--base HEAD~1" in done.stderr
    assert json.loads(done.stdout)["error"] == "gate.nothing_differs"


@pytest.mark.slow
def test_a_slower_head_fails_the_gate_and_a_faster_one_passes(repository, tmp_path):
    (repository / "train.py").write_text(PROGRAM.replace("DELAY", "0.04"))
    summary = tmp_path / "summary.md"
    summary.write_text("what another step wrote\n")
    done = gate(
        repository,
        "--budget",
        "90s",
        "--tolerate-load",
        "--json",
        str(tmp_path / "slower.json"),
        "--markdown",
        str(summary),
    )
    assert done.returncode == 1, done.stderr
    result = json.loads((tmp_path / "slower.json").read_text())
    assert result["verdict"] == "slower"
    assert result["speedup"] == pytest.approx(0.55, abs=0.15)
    assert result["differing"] == ["train.py"]
    assert summary.read_text().startswith("what another step wrote\n## pitstop")
    again = subprocess.run(
        [sys.executable, "-m", "pitstop", "report"], cwd=repository, capture_output=True, text=True, check=False
    )
    assert again.returncode == 0
    assert "Failed" in again.stderr
    git(repository, "commit", "-qam", "Slower")
    (repository / "train.py").write_text(PROGRAM.replace("DELAY", "0.02"))
    done = gate(
        repository, "--base", "HEAD", "--budget", "90s", "--tolerate-load", "--json", str(tmp_path / "faster.json")
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "faster.json").read_text())["verdict"] == "faster"


@pytest.mark.slow
def test_a_head_that_fails_is_named(repository):
    (repository / "train.py").write_text("import torch\nraise SystemExit('no data')\n")
    done = gate(repository, "--budget", "60s", "--tolerate-load")
    assert done.returncode == 3, done.stderr
    assert "head version" in done.stderr


@pytest.mark.slow
def test_the_action_s_own_lines_run(repository, tmp_path):
    (repository / "train.py").write_text(PROGRAM.replace("DELAY", "0.04"))
    action = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text())
    step = next(one for one in action["runs"]["steps"] if "gate" in one.get("run", ""))
    inputs = {name: str(given.get("default", "")) for name, given in action["inputs"].items()}
    inputs |= {"command": f"{sys.executable} train.py", "budget": "90s", "options": "--tolerate-load"}
    env = {**os.environ, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "RUNNER_TEMP": str(tmp_path)}
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    for name, value in step["env"].items():
        env[name] = inputs[value.removeprefix("${{ inputs.").removesuffix(" }}")]
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=repository,
        env=env,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "Failed" in (tmp_path / "summary.md").read_text()
