"""`pitstop gate` on real repositories with real runs; errors are quick, comparisons are not."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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


def fingerprint(root: Path) -> str:
    """What is in the tree and in .git, with modes and links; .git's own folders too, so that no worktree is registered."""
    found = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if ".pitstop" in path.parts:
            continue
        found.update(f"{path.relative_to(root)} {path.lstat().st_mode}".encode())
        if path.is_symlink():
            found.update(os.fsencode(path.readlink()))
        elif path.is_file():
            found.update(path.read_bytes())
    return found.hexdigest()


def gate(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pitstop", "gate", "--lang", "en", *options, "--", sys.executable, "train.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=400, check=False)


def test_nothing_to_compare_is_said_at_once(repository):
    done = gate(repository, "--json", "-")
    assert done.returncode == 2
    assert "--base HEAD~1" in done.stderr
    assert json.loads(done.stdout)["error"] == "gate.nothing_differs"
    assert list((repository / ".pitstop" / "runs").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--margin", "2"], "2% or 0.02"),
        (["--margin", "much"], "2% or 0.02"),
        (["--memory-margin", "-1%"], "2% or 0.02"),
        (["--budget", "5"], "with its unit"),
        (["--base", "no-such"], "no commit 'no-such'"),
        (["--resume"], "no unfinished gate"),
    ],
)
def test_wrong_use_is_said_at_once(repository, options, words):
    done = gate(repository, *options)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())


def test_outside_of_a_repository(tmp_path):
    (tmp_path / "train.py").write_text("pass\n")
    summary = tmp_path / "summary.md"
    done = gate(tmp_path, "--markdown", str(summary))
    assert done.returncode == 2
    assert "no git repository" in done.stderr
    assert "no git repository" in summary.read_text()


@pytest.mark.parametrize("text", ["2%", "2 %", "0.02"])
def test_shares_are_read_as_people_write_them(text):
    from pitstop.cli.gate import share

    assert share(text, most=1.0) == pytest.approx(0.02)


@pytest.mark.slow
def test_a_slower_head_fails_the_gate_and_a_faster_one_passes(repository, tmp_path):
    (repository / "train.py").write_text(PROGRAM.replace("DELAY", "0.04"))
    summary = tmp_path / "summary.md"
    summary.write_text("what another step wrote\n")
    before = fingerprint(repository)
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
    assert fingerprint(repository) == before
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
def test_a_base_without_the_script_is_named(repository):
    git(repository, "rm", "-q", "--cached", "train.py")
    git(repository, "commit", "-q", "-m", "Not yet")
    git(repository, "add", "train.py")
    done = gate(repository, "--budget", "60s", "--tolerate-load")
    assert done.returncode == 3, done.stderr
    assert "base version" in done.stderr
    assert "train.py" in done.stderr


@pytest.mark.slow
def test_a_gate_that_was_interrupted_goes_on(repository, tmp_path):
    (repository / "train.py").write_text(PROGRAM.replace("DELAY", "0.04"))
    command = [sys.executable, "-m", "pitstop", "gate", "--lang", "en", "--budget", "120s", "--tolerate-load"]
    program = ["--", sys.executable, "train.py"]
    with (tmp_path / "errors").open("w") as errors:
        first = subprocess.Popen([*command, *program], cwd=repository, stderr=errors)
        while "pair 2" not in (tmp_path / "errors").read_text() and first.poll() is None:
            time.sleep(0.2)
        first.send_signal(signal.SIGINT)
        assert first.wait(60) == 130
    assert "--resume" in (tmp_path / "errors").read_text()
    (run,) = (repository / ".pitstop" / "runs").iterdir()
    made = {path.name for path in (run / "trials").iterdir()}
    done = gate(repository, "--resume", "--tolerate-load", "--json", str(tmp_path / "gate.json"))
    assert done.returncode == 1, done.stderr
    assert (run / "gate.json").is_file()
    assert made < {path.name for path in (run / "trials").iterdir()}
    assert sum("observe" in path.name for path in (run / "trials").iterdir()) == 2, "not observed again"
    assert json.loads((tmp_path / "gate.json").read_text())["trials"] >= 6
