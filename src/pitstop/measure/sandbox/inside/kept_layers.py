"""Layers in memory end with the mount namespace; where pitstop wants to see them, they are copied out before."""

import contextlib
import json
import os
import shutil
import stat
from typing import NamedTuple

CHANGED = "changed.json"  # in each copied layer: path below `upper` -> when it changed (ns), which a copy cannot keep


class Kept(NamedTuple):
    """Open folders: the layers, and where they go. Paths to both end at pivot_root, descriptors do not."""

    layers: int
    destination: int


def open_folder(path: str) -> int:
    """Open a folder before the root is left."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def copy(kept: Kept) -> None:
    """Copy regular files, folders and links of every layer; deletions (0/0 devices) and sockets are left out."""
    layers, destination = f"/proc/self/fd/{kept.layers}", f"/proc/self/fd/{kept.destination}"
    for layer in os.listdir(layers):
        source, target = f"{layers}/{layer}", f"{destination}/{layer}"
        os.makedirs(f"{target}/upper")
        shutil.copyfile(f"{source}/point", f"{target}/point")
        changed: dict[str, int] = {}
        _copy_folder(f"{source}/upper", f"{target}/upper", "", changed)
        with open(f"{target}/{CHANGED}", "w", encoding="ascii") as file:
            json.dump(changed, file)


def _copy_folder(source: str, target: str, below: str, changed: dict[str, int]) -> None:
    for entry in os.scandir(source):
        place, name = f"{target}/{entry.name}", f"{below}{entry.name}"
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(entry.path), place)
        elif stat.S_ISDIR(status.st_mode):
            os.mkdir(place)
            _copy_folder(entry.path, place, f"{name}/", changed)
            shutil.copystat(entry.path, place)
        elif stat.S_ISREG(status.st_mode):
            shutil.copyfile(entry.path, place)
            shutil.copystat(entry.path, place)
        else:
            continue
        changed[name] = status.st_ctime_ns
        if os.geteuid() == 0:
            with contextlib.suppress(PermissionError):
                os.chown(place, status.st_uid, status.st_gid, follow_symlinks=False)
