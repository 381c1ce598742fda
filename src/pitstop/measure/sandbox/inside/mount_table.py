"""What is mounted where, as this process sees it (proc_pid_mountinfo(5))."""

import re
from typing import NamedTuple

_ESCAPE = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """One line of mountinfo. `read_only`: the mount or its file system."""

    identity: int
    parent: int
    point: str
    filesystem: str
    flags: frozenset[str]
    read_only: bool


def parse(text: str) -> list[Mount]:
    """Return the mounts of a mountinfo text, in its order."""
    found = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        filesystem, _, superblock = after.split(" ")[:3]
        flags = frozenset(fields[5].split(","))
        read_only = "ro" in flags or "ro" in superblock.split(",")
        found.append(Mount(int(fields[0]), int(fields[1]), _unescaped(fields[4]), filesystem, flags, read_only))
    return found


def visible(mounts: list[Mount]) -> list[Mount]:
    """Return those that a path can reach (nothing else is mounted over them or over a folder above), by path."""
    by_id = {mount.identity: mount for mount in mounts}
    covered = {mount.parent for mount in mounts if _same_place(mount, by_id.get(mount.parent))}
    reachable = [mount for mount in mounts if mount.identity not in covered and not _hidden(mount, mounts, by_id)]
    return sorted(reachable, key=lambda mount: mount.point)


def is_below(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies in it."""
    return folder in {"/", path} or path.startswith(folder + "/")


def _same_place(mount: Mount, parent: Mount | None) -> bool:
    return parent is not None and parent is not mount and parent.point == mount.point


def _hidden(mount: Mount, mounts: list[Mount], by_id: dict[int, Mount]) -> bool:
    current: Mount | None = mount
    while current is not None:
        here = current
        if any(
            other.parent == here.parent and other.identity != here.identity and is_below(here.point, other.point)
            for other in mounts
        ):
            return True
        parent = by_id.get(here.parent)
        current = parent if parent is not here else None
    return False


def _unescaped(path: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), path)
