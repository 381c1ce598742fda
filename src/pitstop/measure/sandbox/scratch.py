"""Folders of trials: made, removed whatever the trial did in them, and swept up after a pitstop that was killed."""

import itertools
import os
import subprocess
from pathlib import Path

__all__ = ["new_trial_folder", "remove_tree", "sweep"]

_numbers = itertools.count(1)
_PREFIX = "t"
_REMOVE = ["rm", "-rf", "--one-file-system", "--"]


def new_trial_folder(scratch: Path) -> Path:
    """Make a fresh folder below `scratch`; its name says which process owns it."""
    while True:
        folder = scratch / f"{_PREFIX}-{os.getpid()}-{_start_ticks(os.getpid())}-{next(_numbers)}"
        try:
            folder.mkdir(parents=True, mode=0o700)
        except FileExistsError:  # left by a copy of this process in another PID namespace
            continue
        return folder


def sweep(scratch: Path) -> list[Path]:
    """Remove the trial folders whose pitstop is gone; returns them. Their mounts died with their processes."""
    if not scratch.is_dir():
        return []
    removed = []
    for folder in scratch.glob(f"{_PREFIX}-*-*-*"):
        _, pid, start, _ = folder.name.split("-", 3)
        if not pid.isdigit() or _start_ticks(int(pid)) != start:
            remove_tree(folder)
            removed.append(folder)
    return removed


def remove_tree(folder: Path) -> None:
    """Remove a folder that a program had its way with: folders without permission, depth beyond what recursion can do.

    Raises OSError naming the folder if something is still there afterwards.
    """
    for command in (_REMOVE, ["chmod", "-R", "u+rwX", "--"], _REMOVE):
        if folder.exists():
            subprocess.run([*command, str(folder)], check=False, stdin=subprocess.DEVNULL, capture_output=True)
    if folder.exists():
        raise OSError(f"cannot remove the trial folder {folder}")


def _start_ticks(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return None
