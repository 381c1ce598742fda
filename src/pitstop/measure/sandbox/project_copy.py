"""The project at another place: for machines where no overlay can be had. Paths below the project are mapped."""

import errno
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

__all__ = ["copy_project", "moved_back", "moved_text"]

T = TypeVar("T")

# Larger files are data and checkpoints: linked to the original, which nobody can write from inside.
_COPIED_BYTES = 16 << 20
_MOST_COPIED_BYTES = 512 << 20  # of one project; linked from there on
_NOT_COPIED = (".pitstop",)


def copy_project(project: Path, target: Path) -> None:
    """Copy `project` to `target`, which must not exist. Raises OSError.

    Modes, times and links are kept; large files, virtual environments and .git become links to the original.
    """
    left = _MOST_COPIED_BYTES

    def copy_file(source: str, place: str) -> str:
        nonlocal left
        size = Path(source).stat().st_size
        if size > _COPIED_BYTES or size > left:
            Path(place).symlink_to(source)
        else:
            left -= size
            _clone_or_copy(source, place)
        return place

    _copy_folder(project, target, copy_file)


def _copy_folder(source: Path, target: Path, copy_file: Callable[[str, str], str]) -> None:
    target.mkdir(mode=0o700)
    for entry in os.scandir(source):
        place = target / entry.name
        if entry.name in _NOT_COPIED:
            continue
        if entry.is_symlink():
            _copy_link(Path(entry.path), place)
        elif entry.is_dir():
            if (Path(entry.path) / "pyvenv.cfg").exists() or entry.name == ".git":
                place.symlink_to(entry.path)
            else:
                _copy_folder(Path(entry.path), place, copy_file)
        elif entry.is_file():
            copy_file(entry.path, str(place))
    shutil.copystat(source, target)
    target.chmod(target.stat().st_mode | 0o700)


def _copy_link(link: Path, place: Path) -> None:
    leads_to = link.readlink()
    place.symlink_to(leads_to if leads_to.is_absolute() else _kept_relative(link, leads_to))


def _kept_relative(link: Path, leads_to: Path) -> Path:
    """Make a relative link absolute where it leads out of its folder, which keeps its meaning."""
    return (link.parent / leads_to) if ".." in leads_to.parts else leads_to


def _clone_or_copy(source: str, place: str) -> None:
    try:
        with Path(source).open("rb") as read, Path(place).open("xb") as write:
            left = os.fstat(read.fileno()).st_size
            while left:
                copied = os.copy_file_range(read.fileno(), write.fileno(), left)  # a clone where the disk can
                if not copied:
                    break
                left -= copied
        shutil.copystat(source, place)
    except OSError as error:
        if error.errno not in {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}:
            raise
        shutil.copy2(source, place)


def moved_text(text: str, *, project: str, target: str) -> str:
    """Return a word of the launch line with paths of the project mapped: alone, after `=`, or in a list with colons."""
    for before in ("", "=", ":", ","):
        text = _moved_after(text, before, project, target)
    return text


def _moved_after(text: str, before: str, project: str, target: str) -> str:
    parts = text.split(before + project) if before else _split_start(text, project)
    joined = parts[0]
    for part in parts[1:]:
        whole = not part or part[0] in "/:,"
        joined += before + (target if whole else project) + part
    return joined


def _split_start(text: str, project: str) -> list[str]:
    return ["", text.removeprefix(project)] if text.startswith(project) else [text]


def moved_back(value: T, *, project: str, target: str) -> T:
    """Return a record with every path below `target` as it is called in the real project."""

    def convert(part: Any) -> Any:
        if isinstance(part, str):
            inside = part == target or part.startswith(target + "/")
            return project + part[len(target) :] if inside else part
        if isinstance(part, Mapping):
            return {convert(key): convert(item) for key, item in part.items()}
        return [convert(item) for item in part] if isinstance(part, list | tuple) else part

    return msgspec.convert(convert(msgspec.to_builtins(value)), type(value))
