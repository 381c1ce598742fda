"""Layers in memory end with the mount namespace; where pitstop wants to see them, they are copied out before."""

import contextlib
import os
import shutil
import stat
from typing import NamedTuple


class Kept(NamedTuple):
    """Open folders: the layers, and where they go. Paths to both end at pivot_root, descriptors do not."""

    layers: int
    destination: int


def open_destination(path: str) -> int:
    """Open the folder that receives the layers, before the root is left."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def copy(kept: Kept) -> None:
    """Copy regular files, folders and links; deletions (0/0 devices) and sockets are left out."""
    _copy_folder(f"/proc/self/fd/{kept.layers}", f"/proc/self/fd/{kept.destination}", top=True)


def _copy_folder(source: str, target: str, *, top: bool = False) -> None:
    for entry in os.scandir(source):
        if entry.name == "work" and not top and os.path.exists(f"{source}/point"):
            continue
        place = f"{target}/{entry.name}"
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(entry.path), place)
        elif stat.S_ISDIR(mode):
            os.mkdir(place)
            _copy_folder(entry.path, place)
            shutil.copystat(entry.path, place)
        elif stat.S_ISREG(mode):
            shutil.copyfile(entry.path, place)
            shutil.copystat(entry.path, place)
        else:
            continue
        if os.geteuid() == 0:
            status = entry.stat(follow_symlinks=False)
            with contextlib.suppress(PermissionError):
                os.chown(place, status.st_uid, status.st_gid, follow_symlinks=False)
