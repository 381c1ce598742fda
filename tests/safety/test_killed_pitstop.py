"""kill -9 of pitstop itself: the trial ends with it, and the next start sweeps up."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from pitstop.measure.sandbox import plan_sandbox

DRIVER = """
import sys, msgspec
from pathlib import Path
from pitstop.measure.launch import run_program
from pitstop.measure.sandbox import SandboxPlan
from pitstop.records import Program
plan = msgspec.json.decode(sys.argv[1], type=SandboxPlan)
project = Path(sys.argv[2])
run_program(
    Program(argv=(sys.executable, "-c", sys.argv[3]), cwd=str(project)), folder=project / ".pitstop" / "killed",
    project_root=project, probe=None, sandbox=plan, output="capture",
)
"""
PROGRAM = """
import subprocess, time
open("half-written", "w").write("x")
subprocess.Popen(["sleep", "1000"])
print("up", flush=True)
time.sleep(1000)
"""


def _wait_for(condition: Callable[[], bool], what: Callable[[], str]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(0.02)


@pytest.mark.parametrize("kind", ["overlay", "user-namespace", "no-pid-namespace", "copy"])
def test_a_killed_pitstop_leaves_no_process_and_the_next_start_no_folder(trials_in, kind):
    trials = trials_in(kind)
    project = trials.home.project
    argv = [sys.executable, "-c", DRIVER, msgspec.json.encode(trials.plan).decode(), str(project), PROGRAM]
    driver = subprocess.Popen(argv)
    stdout = project / ".pitstop" / "killed" / "stdout"
    _wait_for(lambda: stdout.exists() and stdout.read_text() == "up\n", lambda: "the trial never started")
    mark = f"PITSTOP_TRIAL=t-{driver.pid}-".encode()
    assert _carriers(mark), "the trial runs"

    driver.send_signal(signal.SIGKILL)
    driver.wait()
    _wait_for(lambda: not _carriers(mark), lambda: f"outlived pitstop: {[_status(pid) for pid in _carriers(mark)]}")
    left = [path.name for path in trials.home.scratch.glob("t-*")]
    assert len(left) == 1

    plan_sandbox(project_root=project, scratch=trials.home.scratch)
    assert not list(trials.home.scratch.glob("t-*"))
    assert trials.home.digest() == trials.home.before


def _status(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text() + Path(f"/proc/{pid}/status").read_text()


def _carriers(mark: bytes) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
