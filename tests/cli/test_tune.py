"""`pitstop tune` end to end on a small real program: verdicts, untouched files, resuming after kill -9."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.torch]

PROGRAM = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(512, 32), torch.randint(0, 4, (512,)))
    loader = DataLoader(data, batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.AdamW(model.parameters())
    for epoch in range(400):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        torch.save(model.state_dict(), "checkpoint.pt")


if __name__ == "__main__":
    main()
"""
OPTIONS = ["--tolerate-load", "--budget", "90s", "--only", "fused-optimizer,threads", "--json", "out.json"]


def digest(folder: Path) -> dict[str, str]:
    """Hash every file of the user's, which is all but what pitstop says that it writes."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".pitstop" not in path.parts and path.name != "out.json"
    }


@pytest.fixture
def project(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "checkpoint.pt").write_bytes(b"the user's own checkpoint")
    return tmp_path


def test_every_proposal_gets_a_verdict_and_no_file_of_the_user_is_touched(pitstop, project):
    before = digest(project)
    done = pitstop("tune", *OPTIONS, "--", sys.executable, "train.py", timeout_s=400)
    assert done.returncode == 0, done.stderr
    assert digest(project) == before
    result = json.loads((project / "out.json").read_bytes())
    assert {verdict["treatments"][0] for verdict in result["verdicts"]} >= {"fused-optimizer"}
    kinds = {verdict["verdict"] for verdict in result["verdicts"]}
    assert kinds <= {"faster", "equivalent", "slower", "undecided", "unsafe", "invalid"}
    assert result["cannot_apply"]["compile"], "what --only left out is said"
    folder = Path(result["run_folder"])
    assert (folder / "report.html").is_file()
    assert not list((folder / "scratch").glob("*")), "no trial's layers are left"


def test_a_tune_that_was_killed_goes_on_where_it_was(pitstop, project):
    command = [sys.executable, "-m", "pitstop", "tune", *OPTIONS, "--", sys.executable, "train.py"]
    first = subprocess.Popen(command, cwd=project, stderr=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C.UTF-8"})
    journal = wait_for_observations(project, at_least=2)
    first.send_signal(signal.SIGKILL)
    first.wait()
    kept = count(journal)
    program = ("--", sys.executable, "train.py")
    early = pitstop("report")
    assert early.returncode == 2
    assert "has not finished" in early.stderr
    other = pitstop("tune", "--resume", "--budget", "1h", *program)
    assert other.returncode == 2
    assert "--resume alone" in other.stderr
    done = pitstop("tune", "--resume", *OPTIONS, *program, timeout_s=400)
    assert done.returncode == 0, done.stderr
    assert count(journal) >= kept
    result = json.loads((project / "out.json").read_bytes())
    assert Path(result["run_folder"]) == journal.parent, "the same run folder goes on"
    assert result["trials"] >= kept


def wait_for_observations(project: Path, *, at_least: int) -> Path:
    for _ in range(1200):
        found = list(project.glob(".pitstop/runs/*/journal.sqlite"))
        if found and count(found[0]) >= at_least:
            return found[0]
        time.sleep(0.1)
    raise AssertionError("no observations in two minutes")


def count(journal: Path) -> int:
    from pitstop.store import Journal

    return len(Journal.open(journal).observations(object))
