"""The two sides of a gate: what is laid over the working tree so that it is the base, or the head, at the same paths."""

import hashlib
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

import msgspec

from pitstop.errors import CouldNotMeasure, WrongUse
from pitstop.measure.git import Repository, is_pointer
from pitstop.messages import say
from pitstop.records import Change

__all__ = ["Side", "Sides", "fingerprint", "make_sides"]

_COMPILED = frozenset({".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".pyx", ".pxd", ".rs", ".f90"})
_DEPENDENCIES = frozenset(
    {"pyproject.toml", "setup.cfg", "setup.py", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock"}
    | {"environment.yml", "environment.yaml", "conda-lock.yml"}
)
_NAMED = 3  # files that a caveat names


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One version of the project. `commit` is None for the working tree as it is."""

    commit: str | None
    title: str
    change: Change


class Sides(msgspec.Struct, frozen=True, kw_only=True):
    """Base and head. `differing`: paths from the root of the repository that are not the same in both."""

    root: Path
    base: Side
    head: Side
    differing: tuple[str, ...]
    caveats: tuple[str, ...]


def make_sides(repository: Repository, *, base: str, head: str | None, folder: Path) -> Sides:
    """Find where base and head differ and keep what they have there below `folder`, of the working tree too.

    Both sides get the same paths written, their own content each, so that neither finds more in the interpreter's caches than the
    other. The base is the commit in which `base` and the head parted. Raises WrongUse, CouldNotMeasure.
    """
    tip = repository.commit(base)
    head_commit = None if head is None else repository.commit(head)
    parted = repository.common_ancestor(tip, head_commit or repository.commit("HEAD"))
    commits = {"base": parted or tip, "head": head_commit}
    unlike = {
        side: {one.path: one.in_commit for one in repository.differences(commit)} if commit else {}
        for side, commit in commits.items()
    }
    paths = sorted({path for found in unlike.values() for path in found})
    sides = {
        name: _side(repository, commit, paths, unlike=unlike[name], folder=folder / name)
        for name, commit in commits.items()
    }
    differing = tuple(
        os.path.relpath(path, repository.root) for path in paths if _unlike(path, sides["base"], sides["head"])
    )
    return Sides(
        root=repository.root,
        base=sides["base"],
        head=sides["head"],
        differing=differing,
        caveats=_caveats(repository, differing, base=base, tip=tip, parted=parted),
    )


def fingerprint(sides: Sides) -> str:
    """Return what tells these two versions from others: their commits, and what each has at the paths that are laid or removed."""
    found = hashlib.sha256()
    for side in (sides.base, sides.head):
        found.update(repr((side.commit, sorted(side.change.removed))).encode("utf-8", "surrogateescape"))
        for path, kept in sorted(side.change.laid.items()):
            kind, executable, content = _content(Path(kept))
            found.update(repr((path, kind, executable, len(content))).encode("utf-8", "surrogateescape"))
            found.update(content)
    return found.hexdigest()


def _side(
    repository: Repository, commit: str | None, paths: Sequence[str], *, unlike: dict[str, bool], folder: Path
) -> Side:
    """Return the version in which `paths` are as in `commit`: where it is `unlike` the working tree, from there."""
    laid = (
        {}
        if commit is None
        else repository.write_files(commit, (path for path in paths if unlike.get(path)), folder=folder)
    )
    missing = [path for path in paths if unlike.get(path) and path not in laid]
    if missing:
        raise CouldNotMeasure("gate.not_written", path=missing[0], commit=(commit or "")[:12])
    removed = [path for path in paths if unlike.get(path) is False]
    for path in paths:
        if path in unlike:
            continue
        if not os.path.lexists(path):
            removed.append(path)
        elif not (Path(path).is_dir() and not Path(path).is_symlink()):  # a folder is a submodule of the working tree
            laid[path] = _keep(Path(path), folder / "tree" / os.path.relpath(path, repository.root))
    title = "" if commit is None else repository.title(commit)
    return Side(commit=commit, title=title, change=Change(laid=laid, removed=tuple(removed)))


def _keep(source: Path, target: Path) -> str:
    if is_pointer(source):
        raise CouldNotMeasure("gate.lfs_missing", path=source, commit=say("gate.working_tree"))
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copy2(source, target, follow_symlinks=False)
    except OSError as error:
        raise WrongUse("gate.cannot_read", path=source, why=error.strerror or str(error)) from error
    return str(target)


def _unlike(path: str, base: Side, head: Side) -> bool:
    one, other = base.change.laid.get(path), head.change.laid.get(path)
    if one is None or other is None:
        return one is not other or (path in base.change.removed) != (path in head.change.removed)
    return _content(Path(one)) != _content(Path(other))


def _content(path: Path) -> tuple[str, bool, bytes]:
    if path.is_symlink():
        return "link", False, os.fsencode(path.readlink())
    return "file", os.access(path, os.X_OK), path.read_bytes()


def _caveats(
    repository: Repository, differing: Sequence[str], *, base: str, tip: str, parted: str | None
) -> tuple[str, ...]:
    """Say what else a reader has to know of the two sides."""
    found = []
    if parted is None:
        found.append(say("gate.caveat_no_ancestor", base=base))
    elif parted != tip:
        found.append(say("gate.caveat_parted", base=base, commit=parted[:12]))
    if compiled := [path for path in differing if PurePath(path).suffix in _COMPILED]:
        found.append(say("gate.caveat_compiled", paths=_few(compiled)))
    if asked := [path for path in differing if _asks_for_packages(path)]:
        found.append(say("gate.caveat_packages", paths=_few(asked)))
    if untracked := [path for path in repository.untracked() if path.endswith(".py")]:
        found.append(say("gate.caveat_untracked", paths=_few(untracked)))
    return tuple(found)


def _asks_for_packages(path: str) -> bool:
    name = PurePath(path).name
    return name in _DEPENDENCIES or (name.startswith("requirements") and name.endswith((".txt", ".in")))


def _few(paths: Iterable[str]) -> str:
    listed = sorted(paths)
    more = ", …" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more
