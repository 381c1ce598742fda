"""What git says of a working tree and its commits: where they differ, and the files of a commit as a checkout would write them.

Only reads: neither the index nor anything else of the repository is written (a commit's files come from an index of our own).
"""

import os
import stat
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from pitstop.errors import CouldNotMeasure, WrongUse

__all__ = ["Difference", "Repository", "find_repository", "is_pointer"]

_SUBMODULE = 0o160000
_ABSENT = 0
_POINTER = b"version https://git-lfs.github.com/spec/"
_POINTER_BYTES = 1024  # the specification of Git LFS: a pointer file is smaller


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A path that is not in the working tree as it is in a commit; `in_commit`: the commit has it."""

    path: str  # absolute
    in_commit: bool


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository with a working tree at `root`, an absolute path without links."""

    root: Path

    def commit(self, ref: str) -> str:
        """Return the id of the commit that `ref` names. Raises WrongUse where there is none."""
        found = _git(
            self.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", check=False
        )
        if found is None:
            raise WrongUse("gate.no_such_commit", ref=ref, root=self.root)
        return found.decode().strip()

    def default_base(self) -> str:
        """Return the branch that others start from: the remote's default one, else main or master, there or here.

        Raises WrongUse where there is none.
        """
        for ref in ("origin/HEAD", "origin/main", "origin/master", "main", "master"):
            if _git(self.root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", check=False) is not None:
                return ref
        raise WrongUse("gate.no_base", root=self.root)

    def common_ancestor(self, one: str, other: str) -> str | None:
        """Return the commit in which two lines of development parted; None where none is known (a shallow clone)."""
        found = _git(self.root, "merge-base", one, other, check=False)
        return found.decode().split()[0] if found else None

    def title(self, commit: str) -> str:
        """Return the first line of a commit's message."""
        return _text(_git(self.root, "log", "-1", "--format=%s", commit)).strip()

    def untracked(self) -> tuple[str, ...]:
        """Return the files that git neither tracks nor is told to ignore, as paths from the root."""
        return _names(_git(self.root, "ls-files", "--others", "--exclude-standard", "-z"))

    def differences(self, commit: str) -> tuple[Difference, ...]:
        """Return where the working tree and `commit` differ, submodules gone into.

        Raises CouldNotMeasure for a submodule whose commit is not in this clone.
        """
        return tuple(self._differences(self.root, commit))

    def write_files(self, commit: str, paths: Iterable[str], *, folder: Path) -> dict[str, str]:
        """Write the files at absolute `paths` as `commit` has them below `folder`; returns path -> file or link written.

        As a checkout writes them: line ends, filters, modes and links. Raises CouldNotMeasure where only a Git LFS pointer comes out.
        """
        wanted = [Path(path) for path in paths]
        written: dict[str, str] = {}
        for root, at in self._parts(self.root, commit):
            own = [path for path in wanted if path.is_relative_to(root) and str(path) not in written]
            top = folder / root.relative_to(self.root)
            index = folder.with_name(f"{folder.name}.index")
            _check_out(root, at, [str(path.relative_to(root)) for path in own], folder=top, index=index)
            for path in own:
                place = top / path.relative_to(root)
                if place.is_symlink() or place.is_file():
                    written[str(path)] = str(place)
        for name, source in written.items():
            if is_pointer(Path(source)):
                raise CouldNotMeasure("gate.lfs_missing", path=name, commit=commit[:12])
        return written

    def _differences(self, root: Path, commit: str) -> Iterable[Difference]:
        raw = _git(
            root,
            "diff",
            "--raw",
            "-z",
            "--no-renames",
            "--no-abbrev",
            "--no-ext-diff",
            "--no-relative",
            "--ignore-submodules=none",
            commit,
            "--",
        )
        fields = (raw or b"").split(b"\0")
        for head, name in zip(fields[::2], fields[1::2], strict=False):
            old_mode, new_mode, old_id, _new_id, status = os.fsdecode(head).lstrip(":").split(" ")
            path = root / os.fsdecode(name)
            if status == "U":  # listed once more with what is in the working tree
                continue
            before, after = int(old_mode, 8), int(new_mode, 8)
            if before == _SUBMODULE:
                yield from self._in_submodule(path, old_id, now=after)
                continue
            yield Difference(path=str(path), in_commit=before != _ABSENT)

    def _in_submodule(self, path: Path, commit: str, *, now: int) -> Iterable[Difference]:
        if now != _SUBMODULE or not _has(path, commit):
            raise CouldNotMeasure("gate.submodule_missing", path=path, commit=commit[:12])
        yield from self._differences(path, commit)

    def _parts(self, root: Path, commit: str) -> Iterable[tuple[Path, str]]:
        """Yield the submodules of `commit` that are checked out, innermost first, with their commits, then the repository itself."""
        for line in (_git(root, "ls-tree", "-r", "-z", commit) or b"").split(b"\0"):
            words, _, name = os.fsdecode(line).partition("\t")
            if words.startswith(f"{_SUBMODULE:o} "):
                inside, at = root / name, words.split(" ")[2]
                if (inside / ".git").exists() and _has(inside, at):
                    yield from self._parts(inside, at)
        yield root, commit


def find_repository(folder: Path) -> Repository:
    """Return the repository that `folder` lies in. Raises WrongUse where it lies in none, or git is not to be had."""
    try:
        found = _git(folder, "rev-parse", "--show-toplevel")
    except WrongUse as error:
        if error.key == "gate.no_git":
            raise
        raise WrongUse("gate.no_repository", folder=folder, why=error.values["why"]) from error
    return Repository(root=Path(_text(found).rstrip("\n")))


def is_pointer(path: Path) -> bool:
    """Tell whether a file is what Git LFS keeps in the place of a large file that was not fetched."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_size >= _POINTER_BYTES:
        return False
    with path.open("rb") as file:
        return file.read(len(_POINTER)) == _POINTER


def _check_out(root: Path, commit: str, names: Sequence[str], *, folder: Path, index: Path) -> None:
    if not names:
        return
    folder.mkdir(parents=True, exist_ok=True)
    index.unlink(missing_ok=True)
    own = {"GIT_INDEX_FILE": str(index)}
    _git(root, "read-tree", commit, env=own)
    known = set(_names(_git(root, "ls-files", "-z", env=own)))
    given = b"\0".join(os.fsencode(name) for name in names if name in known)
    _git(root, "checkout-index", "--force", f"--prefix={folder}/", "-z", "--stdin", env=own, given=given)
    index.unlink(missing_ok=True)


def _has(repository: Path, commit: str) -> bool:
    if not (repository / ".git").exists():  # not checked out: git would answer for the repository around it
        return False
    return _git(repository, "cat-file", "-e", f"{commit}^{{commit}}", check=False) is not None


def _names(listed: bytes | None) -> tuple[str, ...]:
    return tuple(os.fsdecode(name) for name in (listed or b"").split(b"\0") if name)


def _text(output: bytes | None) -> str:
    return os.fsdecode(output or b"")


def _git(
    folder: Path, *arguments: str, check: bool = True, env: dict[str, str] | None = None, given: bytes = b""
) -> bytes | None:
    """Run git in `folder`; None where it fails and that is an answer (`check` False). Raises WrongUse with git's own words."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", **(env or {})}
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"):  # set where a hook of git starts pitstop
        if name not in (env or {}):
            environment.pop(name, None)
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "-c", "core.fsmonitor=false", *arguments],
            input=given,
            capture_output=True,
            env=environment,
            check=False,
        )
    except FileNotFoundError as error:
        raise WrongUse("gate.no_git") from error
    if done.returncode and check:
        said = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
        raise WrongUse("gate.git_failed", command=" ".join(arguments[:2]), why=said[-1] if said else done.returncode)
    return None if done.returncode else done.stdout
