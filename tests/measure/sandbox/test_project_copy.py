import os

import pytest

from pitstop.measure.sandbox.project_copy import copy_project, moved_back, moved_text
from pitstop.records import Evidence, Site


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/u/proj", "/copy"),
        ("/home/u/proj/train.py", "/copy/train.py"),
        ("--data=/home/u/proj/data", "--data=/copy/data"),
        ("/lib:/home/u/proj:/home/u/proj/src", "/lib:/copy:/copy/src"),
        ("/home/u/project2/train.py", "/home/u/project2/train.py"),
        ("--out=/home/u/proj2", "--out=/home/u/proj2"),
        ("/mnt/home/u/proj/x", "/mnt/home/u/proj/x"),
        ("train.py", "train.py"),
    ],
)
def test_only_paths_of_the_project_are_mapped(text, expected):
    assert moved_text(text, project="/home/u/proj", target="/copy") == expected


def test_evidence_names_the_real_project():
    evidence = Evidence(project_root="/copy", forwards=(), options=())
    site = Site(path="/copy/a/train.py", line=3)
    assert moved_back(evidence, project="/real", target="/copy").project_root == "/real"
    assert moved_back(site, project="/real", target="/copy") == Site(path="/real/a/train.py", line=3)
    other = Site(path="/copyright.py", line=1)
    assert moved_back(other, project="/real", target="/copy") == other


def test_a_copy_has_contents_modes_times_and_links(tmp_path):
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "train.py").write_text("print()")
    (project / "src" / "train.py").chmod(0o750)
    os.utime(project / "src" / "train.py", ns=(1, 2_000_000_000))
    (project / "latest").symlink_to("src/train.py")
    (project / "out").symlink_to("../outside")
    (project / ".pitstop").mkdir()
    target = tmp_path / "elsewhere" / "deeper"
    target.parent.mkdir()
    copy_project(project, target)
    copied = target / "src" / "train.py"
    assert copied.read_text() == "print()"
    assert copied.stat().st_mode & 0o777 == 0o750
    assert copied.stat().st_mtime_ns == 2_000_000_000
    assert (target / "latest").resolve() == copied
    assert str((target / "out").readlink()) == str(project / "../outside"), (
        "a link out of the project still leads there"
    )
    assert not (target / ".pitstop").exists()


def test_environments_and_large_files_are_linked(tmp_path):
    project = tmp_path / "project"
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "pyvenv.cfg").write_text("")
    with (project / "data.bin").open("wb") as file:
        file.truncate(20 << 20)
    copy_project(project, tmp_path / "copy")
    assert (tmp_path / "copy" / ".venv").is_symlink()
    assert (tmp_path / "copy" / "data.bin").readlink() == project / "data.bin"
