"""What a program prepares before its first step (downloads, decoded data, bytecode), kept so that later trials find it done."""

import contextlib
import json
import os
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from pitstop.measure.sandbox.inside.kept_layers import CHANGED

__all__ = ["collect_seed"]

_OVERLAYS = ("trusted.overlay.", "user.overlay.")
_OPAQUE = ("trusted.overlay.whiteout", "user.overlay.whiteout")


def collect_seed(layers: Path, *, before_ns: int, destination: Path, leave_out: tuple[Path, ...] = ()) -> int:
    """Copy what lay in a trial's layers before a moment into `destination`, a tree of absolute paths; returns files copied.

    `layers`: what `run_program(keep_layers=...)` kept; `before_ns`: CLOCK_MONOTONIC, as events have it. A file
    that changed afterwards (a log, a checkpoint) is left out, deletions are not carried over, and neither is anything below
    `leave_out` (the temporary folder, for one) or that is no regular file, folder or link. Raises OSError.
    """
    before_realtime_ns = time.time_ns() - time.monotonic_ns() + before_ns
    count = 0
    for layer in sorted(layers.iterdir()):
        top = layer / "upper"
        point = (layer / "point").read_text(encoding="utf-8", errors="surrogateescape")
        changed = _changed(layer)
        for source in _entries(top):
            place = Path(point) / source.relative_to(top)
            if any(place.is_relative_to(folder) for folder in leave_out):
                continue
            changed_ns = changed.get(str(source.relative_to(top)), source.lstat().st_ctime_ns)
            if changed_ns < before_realtime_ns:
                count += _copy(source, destination / place.relative_to("/"), top)
    return count


def _changed(layer: Path) -> dict[str, int]:
    """Return when the files of a copied layer changed; a layer that was moved says it itself."""
    try:
        changed: dict[str, int] = json.loads((layer / CHANGED).read_text(encoding="ascii"))
    except FileNotFoundError:
        return {}
    return changed


def _entries(folder: Path) -> Iterator[Path]:
    """Everything below `folder`, parents first, links not followed; unreadable folders are skipped."""
    folders = [folder]  # no recursion: a program may nest deeper than Python can
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                yield Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))


def _copy(source: Path, target: Path, top: Path) -> int:
    status = source.lstat()
    if _is_whiteout(source):
        return 0
    if stat.S_ISDIR(status.st_mode):
        return 0  # made when something in it is copied
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
        return 0
    _make_parents(source.parent, target.parent, top)
    if stat.S_ISLNK(status.st_mode):
        if not target.is_symlink():
            target.symlink_to(source.readlink())
    else:
        shutil.copy2(source, target)
        _forget_overlay(target)
        _give_owner(target, status)
    return 1


def _forget_overlay(target: Path) -> None:
    """Take away overlayfs's own attributes, which copies carry along: in another overlay the file a renamed one stems from is stale."""
    for name in os.listxattr(target, follow_symlinks=False):
        if name.startswith(_OVERLAYS):
            os.removexattr(target, name, follow_symlinks=False)


def _make_parents(source: Path, target: Path, top: Path) -> None:
    """Make folders with the mode and owner that the layer's have: an overlay shows the seed's own."""
    if target.is_dir():
        return
    if source != top:
        _make_parents(source.parent, target.parent, top)
    target.mkdir(parents=True, exist_ok=True)
    status = source.stat()
    _give_owner(target, status)
    target.chmod(stat.S_IMODE(status.st_mode))


def _give_owner(target: Path, status: os.stat_result) -> None:
    if os.geteuid() == 0:
        os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)


def _is_whiteout(path: Path) -> bool:
    """Tell a deletion of overlayfs: a 0/0 character device, or an empty file with a mark in its attributes."""
    status = path.lstat()
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
        return True
    if not stat.S_ISREG(status.st_mode) or status.st_size:
        return False
    try:
        return any(name in _OPAQUE for name in os.listxattr(path, follow_symlinks=False))
    except OSError:
        return False
