"""Which files make the base and the head of a gate, from real repositories of git that stay as they are."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from pitstop.api.gate_sides import fingerprint as api_fingerprint
from pitstop.api.gate_sides import make_sides
from pitstop.errors import PitstopError, WrongUse
from pitstop.measure.git import find_repository
from pitstop.measure.sandbox.inside.lay import lay

IDENTITY = ("-c", "user.name=ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *IDENTITY, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "train.py").write_text("print('base')\n")
    (root / "old.py").write_text("x = 1\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "package").mkdir()
    (root / "package" / "__init__.py").write_text("")
    (root / "link").symlink_to("old.py")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Train")
    return root


def fingerprint(root: Path) -> str:
    """What is in the tree and in .git, but for git's own log of when it looked."""
    found = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file() or path.is_symlink():
            content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            found.update(f"{path.relative_to(root)} {path.lstat().st_mode}".encode() + content)
    return found.hexdigest()


def laid_out(root: Path, side, *, at: Path) -> Path:
    """A copy of the working tree with one version laid over it, as the sandbox does it."""
    subprocess.run(["cp", "-a", str(root), str(at)], check=True)
    moved = {str(at / Path(path).relative_to(root)): source for path, source in side.change.laid.items()}
    removed = [str(at / Path(path).relative_to(root)) for path in side.change.removed]
    lay(moved, removed=removed, kept_folder=str(at))
    return at


def test_each_version_has_its_own_files_modes_and_links_and_the_repository_stays_as_it_is(repository, tmp_path):
    git(repository, "switch", "-q", "-c", "work")
    (repository / "train.py").write_text("print('head')\n")
    git(repository, "mv", "old.py", "new.py")
    (repository / "link").unlink()
    (repository / "link").symlink_to("new.py")
    (repository / "run.sh").chmod(0o755)
    git(repository, "rm", "-rq", "package")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "Faster")
    (repository / "train.py").write_text("print('not committed')\n")
    before = fingerprint(repository)
    sides = make_sides(find_repository(repository), base="main", head=None, folder=tmp_path / "versions")
    assert fingerprint(repository) == before
    assert set(sides.differing) == {"train.py", "old.py", "new.py", "link", "run.sh", "package/__init__.py"}
    base = laid_out(repository, sides.base, at=tmp_path / "as-base")
    head = laid_out(repository, sides.head, at=tmp_path / "as-head")
    assert (base / "train.py").read_text() == "print('base')\n"
    assert (head / "train.py").read_text() == "print('not committed')\n"
    assert (base / "old.py").exists()
    assert not (base / "new.py").exists()
    assert not (head / "old.py").exists()
    assert (base / "link").readlink() == Path("old.py")
    assert not os.access(base / "run.sh", os.X_OK)
    assert os.access(head / "run.sh", os.X_OK)
    assert (base / "package" / "__init__.py").exists()
    assert not (head / "package").exists(), "an empty folder would be a package"


def test_a_named_head_leaves_out_what_is_not_committed(repository, tmp_path):
    git(repository, "switch", "-q", "-c", "work")
    (repository / "train.py").write_text("print('head')\n")
    git(repository, "commit", "-qam", "Faster")
    (repository / "train.py").write_text("print('not committed')\n")
    sides = make_sides(find_repository(repository), base="main", head="work", folder=tmp_path / "versions")
    head = laid_out(repository, sides.head, at=tmp_path / "as-head")
    assert (head / "train.py").read_text() == "print('head')\n"


def test_the_base_is_where_the_branches_parted(repository, tmp_path):
    git(repository, "switch", "-q", "-c", "work")
    (repository / "train.py").write_text("print('head')\n")
    git(repository, "commit", "-qam", "Faster")
    git(repository, "switch", "-q", "main")
    (repository / "old.py").write_text("x = 2\n")
    git(repository, "commit", "-qam", "Something else")
    git(repository, "switch", "-q", "work")
    sides = make_sides(find_repository(repository), base="main", head=None, folder=tmp_path / "versions")
    assert sides.differing == ("train.py",)
    assert any("parted" in caveat for caveat in sides.caveats)


def test_untracked_files_and_packages_asked_for_are_said(repository, tmp_path):
    (repository / "requirements.txt").write_text("torch\n")
    git(repository, "add", "requirements.txt")
    (repository / "helper.py").write_text("")
    sides = make_sides(find_repository(repository), base="main", head=None, folder=tmp_path / "versions")
    said = " ".join(sides.caveats)
    assert "requirements.txt" in said
    assert "helper.py" in said


def test_what_cannot_be_compared_is_one_clear_line(repository, tmp_path):
    with pytest.raises(WrongUse) as error:
        make_sides(find_repository(repository), base="no-such-branch", head=None, folder=tmp_path / "versions")
    assert error.value.key == "gate.no_such_commit"
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(WrongUse) as error:
        find_repository(tmp_path / "elsewhere")
    assert error.value.key == "gate.no_repository"


def test_the_default_base_is_the_default_branch(repository, tmp_path):
    assert find_repository(repository).default_base() == "main"
    git(repository, "branch", "-m", "main", "trunk")
    with pytest.raises(WrongUse) as error:
        find_repository(repository).default_base()
    assert error.value.key == "gate.no_base"


def test_a_submodule_that_was_not_fetched_is_refused(repository, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    (other / "code.py").write_text("")
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "Code")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "vendor")
    git(repository, "commit", "-q", "-m", "Vendor")
    base = git(repository, "rev-parse", "HEAD")
    (other / "code.py").write_text("y = 1\n")
    git(other, "commit", "-qam", "More")
    newer = git(other, "rev-parse", "HEAD")
    git(repository, "update-index", "--cacheinfo", f"160000,{newer},vendor")
    git(repository, "commit", "-q", "-m", "Newer vendor")
    with pytest.raises(PitstopError) as error:
        make_sides(find_repository(repository), base=base, head="HEAD", folder=tmp_path / "versions")
    assert error.value.key == "gate.submodule_missing"


def test_a_large_file_that_is_only_a_pointer_is_refused(repository, tmp_path):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    (repository / "weights.bin").write_text(pointer)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "Weights")
    (repository / "weights.bin").write_text("fetched")
    with pytest.raises(PitstopError) as error:
        make_sides(find_repository(repository), base="HEAD", head=None, folder=tmp_path / "versions")
    assert error.value.key == "gate.lfs_missing"


def branched(repository: Path) -> None:
    git(repository, "switch", "-q", "-c", "work")
    (repository / "train.py").write_text("print('head')\n")
    git(repository, "commit", "-qam", "Faster")


def test_a_shallow_clone_lacks_its_base_or_takes_the_one_that_was_fetched_as_it_is(repository, tmp_path):
    git(repository, "commit", "-q", "--allow-empty", "-m", "Later")
    branched(repository)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "1", "--branch", "work", f"file://{repository}", str(clone))
    with pytest.raises(WrongUse) as error:
        make_sides(find_repository(clone), base="origin/main", head=None, folder=tmp_path / "versions")
    assert error.value.key == "gate.no_such_commit"
    git(clone, "fetch", "-q", "--depth", "1", "origin", "main:refs/remotes/origin/main")
    before = fingerprint(clone)
    sides = make_sides(find_repository(clone), base="origin/main", head=None, folder=tmp_path / "versions")
    assert fingerprint(clone) == before
    assert sides.differing == ("train.py",)
    assert any("No common ancestor" in caveat for caveat in sides.caveats)


def test_a_linked_worktree_is_a_repository_like_others(repository, tmp_path):
    branched(repository)
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", "--detach", str(linked), "work")
    before = fingerprint(repository), fingerprint(linked)
    sides = make_sides(find_repository(linked), base="main", head=None, folder=tmp_path / "versions")
    assert (fingerprint(repository), fingerprint(linked)) == before
    assert (sides.root, sides.differing) == (linked, ("train.py",))


def test_names_that_no_one_expects(repository, tmp_path):
    names = ["with space.py", "new\nline.py", "中文.py", '"quoted".py', os.fsdecode(b"\xff.py")]
    for name in names:
        (repository / name).write_text("x = 1\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "Names")
    for name in names:
        (repository / name).write_text("x = 2\n")
    sides = make_sides(find_repository(repository), base="HEAD", head=None, folder=tmp_path / "versions")
    assert set(sides.differing) == set(names)
    base = laid_out(repository, sides.base, at=tmp_path / "as-base")
    assert {(base / name).read_text() for name in names} == {"x = 1\n"}
    versions = make_sides(find_repository(repository), base="HEAD", head=None, folder=tmp_path / "again")
    assert api_fingerprint(sides) == api_fingerprint(versions)


def test_what_is_staged_and_changed_again_counts_as_it_stands_and_the_index_stays(repository, tmp_path):
    (repository / "train.py").write_text("print('staged')\n")
    git(repository, "add", "train.py")
    (repository / "train.py").write_text("print('as it stands')\n")
    (repository / "old.py").unlink()
    before = git(repository, "status", "--porcelain=v2"), fingerprint(repository)
    sides = make_sides(find_repository(repository), base="HEAD", head=None, folder=tmp_path / "versions")
    assert fingerprint(repository) == before[1]
    assert git(repository, "status", "--porcelain=v2") == before[0]
    head = laid_out(repository, sides.head, at=tmp_path / "as-head")
    assert (head / "train.py").read_text() == "print('as it stands')\n"
    assert not (head / "old.py").exists()


def test_a_folder_in_the_place_of_a_file_and_a_file_in_that_of_a_folder(repository, tmp_path):
    git(repository, "rm", "-q", "old.py")
    (repository / "old.py").mkdir()
    (repository / "old.py" / "inside.py").write_text("")
    git(repository, "rm", "-rq", "package")
    (repository / "package").write_text("now a file\n")
    git(repository, "add", "-A")
    sides = make_sides(find_repository(repository), base="HEAD", head=None, folder=tmp_path / "versions")
    base = laid_out(repository, sides.base, at=tmp_path / "as-base")
    head = laid_out(repository, sides.head, at=tmp_path / "as-head")
    assert (base / "old.py").read_text() == "x = 1\n"
    assert (base / "package" / "__init__.py").is_file()
    assert (head / "old.py" / "inside.py").is_file()
    assert (head / "package").read_text() == "now a file\n"


def test_versions_are_told_apart_by_what_they_hold_and_by_their_modes(repository, tmp_path):
    def seen(number: int) -> str:
        folder = tmp_path / f"versions-{number}"
        return api_fingerprint(make_sides(find_repository(repository), base="HEAD", head=None, folder=folder))

    (repository / "train.py").write_text("print('head')\n")
    first = seen(1)
    assert seen(2) == first
    (repository / "train.py").chmod(0o755)
    third = seen(3)
    (repository / "train.py").write_text("print('other')\n")
    assert len({first, third, seen(4)}) == 3


def test_a_monitor_that_the_repository_asks_for_is_not_started(repository, tmp_path):
    called = tmp_path / "called"
    hook = tmp_path / "monitor"
    hook.write_text(f"#!/bin/sh\ntouch '{called}'\n")
    hook.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(hook))
    git(repository, "status")
    assert called.exists(), "git itself asks it"
    called.unlink()
    (repository / "train.py").write_text("print('head')\n")
    make_sides(find_repository(repository), base="HEAD", head=None, folder=tmp_path / "versions")
    assert not called.exists()
