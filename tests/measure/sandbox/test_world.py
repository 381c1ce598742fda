"""Compiler caches: private to a trial, common after a clean end, and never half-written."""

import sys
from pathlib import Path

import pytest

from pitstop.errors import CouldNotMeasure
from pitstop.measure.launch import run_program
from pitstop.measure.sandbox import SandboxPlan, plan_sandbox
from pitstop.measure.sandbox.world import World
from pitstop.records import Change, Program, Run

COMPILE = """
import os, pathlib
cache = pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
print(sorted(path.name for path in cache.glob("*")))
cache.mkdir(parents=True, exist_ok=True)
(cache / f"kernel{len(list(cache.glob('*')))}").write_text("code")
"""


@pytest.fixture
def project(tmp_path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def plan(project) -> SandboxPlan:
    return plan_sandbox(project_root=project, scratch=project / ".pitstop" / "scratch")


def _trial(project: Path, plan: SandboxPlan, cache: Path | None, text: str) -> tuple[Run, str]:
    folder = project / ".pitstop" / "runs" / str(len(list((project / ".pitstop").glob("runs/*"))))
    run = run_program(
        Program(argv=(sys.executable, "-c", text), cwd=str(project)),
        folder=folder,
        project_root=project,
        probe=None,
        sandbox=plan,
        output="capture",
        compile_cache=cache,
        timeout_s=60,
    )
    return run, (folder / "stdout").read_text()


def test_repeats_start_warm_and_change_nothing_for_each_other(project, plan):
    cache = project / ".pitstop" / "cache"
    assert _trial(project, plan, cache, COMPILE)[1] == "[]\n"
    assert [path.name for path in (cache / "inductor").iterdir()] == ["kernel0"]
    for _ in range(2):
        assert _trial(project, plan, cache, COMPILE)[1] == "['kernel0']\n"
    assert [path.name for path in (cache / "inductor").iterdir()] == ["kernel0"], "what a repeat adds is its own"


def test_nothing_is_published_after_a_crash(project, plan):
    cache = project / ".pitstop" / "cache"
    assert _trial(project, plan, cache, COMPILE + "raise SystemExit(1)")[0].exit_code == 1
    assert not cache.exists()


def test_without_a_common_cache_every_trial_is_cold(project, plan):
    for _ in range(2):
        assert _trial(project, plan, None, COMPILE)[1] == "[]\n"


def test_without_a_sandbox_no_file_can_be_changed(project):
    plan = SandboxPlan(kind="none", scratch=str(project / ".pitstop"))
    with pytest.raises(CouldNotMeasure, match="no_place_for_files"):
        World(plan, project_root=project, change=Change(files={str(project / "a.py"): ""}))


def test_a_copy_refuses_to_change_a_file_outside_of_the_project(project, tmp_path):
    plan = SandboxPlan(kind="copy", scratch=str(project / ".pitstop"))
    with pytest.raises(CouldNotMeasure, match="file_outside_copy"):
        World(plan, project_root=project, change=Change(files={str(tmp_path / "other.py"): ""}))
    assert not list((project / ".pitstop").iterdir()), "nothing is left of the attempt"


def test_a_copy_changes_a_linked_file_without_following_the_link(project, tmp_path):
    original = tmp_path / "shared.py"
    original.write_text("original")
    (project / "linked.py").symlink_to(original)
    plan = SandboxPlan(kind="copy", scratch=str(project / ".pitstop"))
    world = World(plan, project_root=project, change=Change(files={str(project / "linked.py"): "edited"}))
    assert (world.project / "linked.py").read_text() == "edited"
    assert original.read_text() == "original"
    world.remove()


def test_the_temporary_folder_of_a_copy_is_short_enough_for_sockets(project):
    plan = SandboxPlan(kind="copy", scratch=str(project / ".pitstop" / ("deep" * 20)))
    world = World(plan, project_root=project, change=Change())
    folder = Path(world.environment({})["TMPDIR"])
    assert folder.is_dir()
    assert len(str(folder)) <= 60
    world.remove()
    assert not folder.exists()
