"""What the first trial prepared before its first step, from the layers it left."""

import os
import sys
import time
from pathlib import Path

import msgspec
import pytest

from pitstop.measure.launch import run_program
from pitstop.measure.sandbox import SandboxPlan, collect_seed, plan_sandbox
from pitstop.records import Program

PREPARE = """
import os, pathlib, shutil, time
pathlib.Path("cache/decoded").mkdir(parents=True)
pathlib.Path("cache/decoded/a.bin").write_text("prepared")
os.chmod("cache/decoded/a.bin", 0o640)
os.symlink("decoded/a.bin", "cache/link")
log = open("log.txt", "w"); log.write("before"); log.flush()
os.unlink("old.txt")
pathlib.Path("moment").write_text(str(time.monotonic_ns()))
while time.monotonic_ns() < int(pathlib.Path("moment").read_text()) + 50_000_000: pass
log.write("after"); log.flush()
pathlib.Path("checkpoint").write_text("after")
pathlib.Path({moment!r}).write_text("")
"""


@pytest.fixture
def project(tmp_path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "old.txt").write_text("old")
    return project


def _kept_layers(project: Path, plan: SandboxPlan) -> Path:
    layers = project / ".pitstop" / "layers"
    run = run_program(
        Program(argv=(sys.executable, "-c", PREPARE.format(moment=str(project / "outer"))), cwd=str(project)),
        folder=project / ".pitstop" / "run",
        project_root=project,
        probe=None,
        sandbox=plan,
        output="capture",
        keep_layers=layers,
        timeout_s=60,
    )
    assert run.exit_code == 0, (project / ".pitstop" / "run" / "stderr").read_text()
    return layers


@pytest.mark.parametrize("upper", ["scratch", "tmpfs"])
def test_files_from_before_a_moment_and_no_others(project, upper):
    plan = plan_sandbox(project_root=project, scratch=project / ".pitstop" / "scratch")
    if plan.kind != "overlay":
        pytest.skip("needs an overlay")
    plan = msgspec.structs.replace(plan, upper=upper, disk_limit_bytes=1 << 28)
    layers = _kept_layers(project, plan)
    (moment,) = layers.glob("*/upper/**/moment")
    # The kernel's file times are as coarse as its tick: the moment is taken in the middle of the program's pause.
    before_ns = int(moment.read_text()) + 25_000_000
    seed = project / ".pitstop" / "seed"
    collect_seed(layers, before_ns=before_ns, destination=seed)
    found = seed / project.relative_to("/")
    names = sorted(str(path.relative_to(found)) for path in found.rglob("*"))
    assert names == ["cache", "cache/decoded", "cache/decoded/a.bin", "cache/link", "moment"]
    assert (found / "cache/decoded/a.bin").read_text() == "prepared"
    assert (found / "cache/decoded/a.bin").stat().st_mode & 0o777 == 0o640
    assert str((found / "cache/link").readlink()) == "decoded/a.bin"


def test_left_out_folders_are_left_out(tmp_path):
    layer = tmp_path / "layers" / "0"
    (layer / "upper" / "tmp" / "x").mkdir(parents=True)
    (layer / "upper" / "tmp" / "x" / "scrap").write_text("x")
    (layer / "upper" / "data").mkdir()
    (layer / "upper" / "data" / "file").write_text("x")
    (layer / "point").write_text("/")
    later_ns = time.monotonic_ns() + 10**9
    count = collect_seed(
        tmp_path / "layers", before_ns=later_ns, destination=tmp_path / "seed", leave_out=(Path("/tmp"),)
    )
    assert count == 1
    assert (tmp_path / "seed" / "data" / "file").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
def test_deletions_and_devices_are_not_carried_over(tmp_path):
    upper = tmp_path / "layers" / "0" / "upper"
    upper.mkdir(parents=True)
    (upper.parent / "point").write_text("/home")
    os.mknod(upper / "deleted", 0o020600, 0)
    os.mkfifo(upper / "fifo")
    assert collect_seed(tmp_path / "layers", before_ns=time.monotonic_ns() + 10**9, destination=tmp_path / "seed") == 0


RENAME = (
    "import os\nif os.path.exists('last.pt'):\n    os.replace('last.pt', 'prev.pt')\nprint(open('prev.pt').read())\n"
)


@pytest.mark.parametrize("upper", ["scratch", "tmpfs"])
def test_a_file_that_was_renamed_can_be_renamed_again_over_the_seeds(project, upper):
    """Overlayfs notes in its layers where a renamed file stems from; in the next overlay that note would be stale."""
    plan = plan_sandbox(project_root=project, scratch=project / ".pitstop" / "scratch")
    if plan.kind != "overlay":
        pytest.skip("needs an overlay")
    plan = msgspec.structs.replace(plan, upper=upper, disk_limit_bytes=1 << 28)
    (project / "last.pt").write_text("checkpoint")
    seed, layers = project / ".pitstop" / "seed", project / ".pitstop" / "layers"
    program = Program(argv=(sys.executable, "-c", RENAME), cwd=str(project))
    for number, options in enumerate(({"keep_layers": layers}, {"seed": seed}, {"seed": seed})):
        folder = project / ".pitstop" / f"run-{number}"
        run = run_program(
            program,
            folder=folder,
            project_root=project,
            probe=None,
            sandbox=plan,
            output="capture",
            timeout_s=60,
            **options,
        )
        assert run.exit_code == 0, (folder / "stderr").read_text()
        assert (folder / "stdout").read_text() == "checkpoint\n"
        if number == 0:
            collect_seed(layers, before_ns=time.monotonic_ns() + 10**9, destination=seed)
            assert (seed / project.relative_to("/") / "prev.pt").exists()
    assert (project / "last.pt").read_text() == "checkpoint"
    assert not (project / "prev.pt").exists()
