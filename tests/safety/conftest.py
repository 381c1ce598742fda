"""A user's home with a project in it, and every sandbox that works on this machine."""

import hashlib
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pitstop.measure.ending import MARK
from pitstop.measure.launch import run_program
from pitstop.measure.sandbox import SandboxPlan
from pitstop.measure.sandbox.choose import _attempt
from pitstop.records import Program, Run

# What a plan is called in the test's name -> how it differs from an overlay set up by root.
KINDS: dict[str, dict[str, Any]] = {
    "overlay": {"user_namespace": os.geteuid() != 0, "pid_namespace": True},
    "user-namespace": {"user_namespace": True, "pid_namespace": True},
    "no-pid-namespace": {"user_namespace": os.geteuid() != 0, "pid_namespace": False},
    "tmpfs": {
        "user_namespace": os.geteuid() != 0,
        "pid_namespace": True,
        "upper": "tmpfs",
        "disk_limit_bytes": 1 << 28,
    },
    "copy": {"kind": "copy", "user_namespace": os.geteuid() != 0, "freeze_metadata": True},
    "copy-no-tcp": {"kind": "copy", "freeze_metadata": True, "network": "no-tcp"},
}
_works: dict[str, tuple[str, str] | None] = {}


class Home:
    """The user's files, and what they were."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.project = path / "project"
        self.scratch = self.project / ".pitstop" / "scratch"
        self.scratch.mkdir(parents=True)
        (self.project / "data").mkdir()
        (self.project / "train.py").write_text("print('original')\n")
        (self.project / "data" / "samples.bin").write_bytes(bytes(range(256)) * 64)
        (self.project / "latest").symlink_to("data/samples.bin")
        (path / "models").mkdir()
        (path / "models" / "best.ckpt").write_bytes(b"precious" * 1000)
        (path / "models" / "best.ckpt").chmod(0o640)
        (path / "notes.txt").write_text("do not lose\n")
        self.before = self.digest()

    def digest(self) -> dict[str, tuple[object, ...]]:
        """Everything of every file but .pitstop: kind, mode, owner, times, content."""
        found: dict[str, tuple[object, ...]] = {}
        for parent, folders, files in os.walk(self.path):
            if ".pitstop" in folders:
                folders.remove(".pitstop")
            for name in (".", *folders, *files):
                path = Path(parent) / name
                status = path.lstat()
                content = path.readlink() if path.is_symlink() else b""
                if stat.S_ISREG(status.st_mode):
                    content = hashlib.sha256(path.read_bytes()).hexdigest()
                attributes = {key: os.getxattr(path, key) for key in os.listxattr(path, follow_symlinks=False)}
                times = status.st_mtime_ns if name not in {".", *folders} else None
                key = str(path.relative_to(self.path))
                found[key] = (status.st_mode, status.st_uid, status.st_nlink, times, content, attributes)
        return found


class Trials:
    """Runs programs of tests under one plan and checks after each that nothing is left."""

    def __init__(self, plan: SandboxPlan, home: Home) -> None:
        self.plan = plan
        self.home = home
        self.count = 0
        self.folder = Path()

    def run(self, text: str, *, argv: tuple[str, ...] | None = None, **options: Any) -> Run:
        self.count += 1
        self.folder = self.home.project / ".pitstop" / "runs" / str(self.count)
        options.setdefault("timeout_s", 60.0)
        run = run_program(
            Program(argv=argv or (sys.executable, "-c", text), cwd=str(self.home.project)),
            folder=self.folder,
            project_root=self.home.project,
            probe=None,
            sandbox=options.pop("plan", self.plan),
            output="capture",
            **options,
        )
        assert self.home.digest() == self.home.before, "the user's files changed"
        assert marked_processes() == [], "a process is left"
        assert not list(self.home.scratch.glob("t-*")), "a trial folder is left"
        assert str(self.home.scratch) not in Path("/proc/self/mountinfo").read_text(), "a mount is left"
        left = [path.name for path in Path("/dev/shm").iterdir() if "pitstop-test" in path.name]
        assert not left, "shared memory is left"
        return run

    def left_over(self) -> list[int]:
        return marked_processes()

    @property
    def stdout(self) -> str:
        return (self.folder / "stdout").read_text()

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()


def marked_processes() -> list[int]:
    """Processes of any trial of this test session's pitstops."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
                state = (entry / "stat").read_bytes().rpartition(b")")[2].split()[0]
            except OSError:
                continue
            if f"{MARK}=t-{os.getpid()}-".encode() in environment and state not in b"ZX":
                found.append(int(entry.name))
    return found


def plan_of(name: str, scratch: Path) -> SandboxPlan:
    """The plan called `name`; skips the test where this machine cannot do it."""
    fields = {"kind": "overlay", "landlock": True, "network": "loopback", **KINDS[name]}
    plan = msgspec.convert({**fields, "scratch": str(scratch)}, SandboxPlan)
    if name not in _works:
        _works[name] = _attempt(plan, scratch.parent)
    if _works[name] is not None:
        pytest.skip(f"{name} does not work on this machine: {_works[name]}")
    return plan


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture(params=["overlay", "user-namespace", "no-pid-namespace", "copy"])
def trials(request: pytest.FixtureRequest, home: Home) -> Trials:
    """Under each kind of sandbox in turn."""
    return Trials(plan_of(request.param, home.scratch), home)


@pytest.fixture
def trials_in(home: Home) -> Callable[[str], Trials]:
    """Under the kind of sandbox that is asked for."""
    return lambda name: Trials(plan_of(name, home.scratch), home)
