"""The same files at the same paths, and every write lands in a layer that is thrown away.

Each file system is covered by an overlay of its own. In a user namespace the kernel refuses to cover a folder that holds
mount points (it would reveal what they hide), so such a folder is rebuilt entry by entry on a small tmpfs.
"""

import contextlib
import errno
import os
import shutil
import stat

from .mount_table import Mount, is_below, parse, visible
from .syscalls import (
    MS_BIND,
    MS_NOATIME,
    MS_NODEV,
    MS_NODIRATIME,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_RELATIME,
    MS_REMOUNT,
    make_read_only,
    mount,
)

_APART = ("/proc", "/sys", "/dev")  # built anew or bound by main
_PSEUDO = frozenset(
    [
        "autofs",
        "binfmt_misc",
        "bpf",
        "cgroup",
        "cgroup2",
        "configfs",
        "debugfs",
        "devpts",
        "devtmpfs",
        "efivarfs",
        "fusectl",
        "hugetlbfs",
        "mqueue",
        "nsfs",
        "proc",
        "pstore",
        "rpc_pipefs",
        "securityfs",
        "selinuxfs",
        "sysfs",
        "tracefs",
    ]
)
_COPIED_BYTES = 1 << 20  # a file beside a mount point: smaller ones are copied (writable), larger ones bound read-only
_MOST_ENTRIES = 2000  # of a folder rebuilt entry by entry; larger ones are bound read-only as a whole
_FLAGS = {
    "nosuid": MS_NOSUID,
    "nodev": MS_NODEV,
    "noexec": MS_NOEXEC,
    "noatime": MS_NOATIME,
    "nodiratime": MS_NODIRATIME,
    "relatime": MS_RELATIME,
}


class PrivateRoot:
    """Builds the tree under `new`, a folder; layers go to `layers`, a folder on a file system that can hold them."""

    def __init__(self, new: str, *, layers: str, seed: str | None, in_user_namespace: bool) -> None:
        self._new = new
        self._layers = layers
        self._seed = seed
        self._userns = in_user_namespace
        self._count = 0
        self.covered: list[str] = []  # writable for the program, thrown away afterwards
        self.read_only: list[str] = []
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
            mounts = visible(parse(table.read()))
        # What is mounted at `layers` is the sandbox's own.
        self._mounts = [found for found in mounts if not _apart(found.point) and not is_below(found.point, layers)]

    def build(self) -> None:
        """Cover every file system that a path can reach; raises OSError where not even the root can be covered."""
        if self._userns:
            mount("tmpfs", self._new, "tmpfs", MS_NOSUID, "mode=755,size=256m")
            self._rebuild("/")
        else:
            self._overlay("/")
        mount("none", self._new, None, MS_PRIVATE)
        for found in self._mounts:
            if found.point not in {"/", self._new}:
                self._cover_mount(found)

    def protects(self, path: str) -> bool:
        """Whether writes below `path` reach a layer that is thrown away."""
        best = max((point for point in self.covered + self.read_only if is_below(path, point)), key=len, default=None)
        return best in self.covered

    def _cover_mount(self, found: Mount) -> None:
        point = found.point
        try:
            mode = os.lstat(point).st_mode
        except OSError:  # e.g. a dead FUSE mount, or another user's
            self.read_only.append(point)
            return
        if not stat.S_ISDIR(mode):
            if not stat.S_ISSOCK(mode):  # a socket mounted here leads to a service of the host
                self._bind_file(point)
            return
        if found.filesystem in {"autofs", "nsfs"}:
            return
        with contextlib.suppress(OSError):
            os.makedirs(self._new + point, exist_ok=True)
        if found.read_only or found.filesystem in _PSEUDO:
            self._bind_read_only(point)
            return
        self._cover_folder(point)

    def _cover_folder(self, path: str) -> None:
        """Cover with an overlay if it can be, else entry by entry, else read-only."""
        try:
            self._overlay(path)
        except OSError:
            if self._userns and self._holds_mounts(path):
                self._rebuild(path)
            else:
                self._bind_read_only(path)

    def _overlay(self, path: str) -> None:
        folder = f"{self._layers}/{self._count}"
        self._count += 1
        upper, work = f"{folder}/upper", f"{folder}/work"
        os.makedirs(upper)
        os.mkdir(work)
        with open(f"{folder}/point", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(path)
        _copy_attributes(path, upper)
        below = self._with_seed(path, folder) if self._seed else path
        self._mount_overlay(self._new + path, lower=below, upper=upper, work=work)
        self.covered.append(path)

    def _with_seed(self, path: str, folder: str) -> str:
        """Return a lower folder that shows `path` with the seed's files in it; `path` itself where that went into `folder`.

        A seed on the same disk cannot be a second lower layer (the kernel refuses a layer inside a layer), but it can be
        the upper one of an overlay that nobody writes to. Where overlays cannot be stacked, it is copied.
        """
        seeded = f"{self._seed}{path}"
        if not os.path.isdir(seeded):
            return path
        _copy_attributes(path, seeded)
        below, work = f"{folder}/below", f"{folder}/below-work"
        os.mkdir(below)
        os.mkdir(work)
        try:
            self._mount_overlay(below, lower=path, upper=seeded, work=work, flags=MS_RDONLY)
        except OSError:
            shutil.copytree(seeded, f"{folder}/upper", symlinks=True, dirs_exist_ok=True)
            return path
        return below

    def _mount_overlay(self, target: str, *, lower: str, upper: str, work: str, flags: int = 0) -> None:
        lowers = _escaped(lower).replace(":", "\\:")
        options = f"lowerdir={lowers},upperdir={_escaped(upper)},workdir={_escaped(work)}"
        if self._userns:
            mount("overlay", target, "overlay", flags, f"{options},userxattr")
            return
        try:
            mount("overlay", target, "overlay", flags, f"{options},redirect_dir=on")  # folders can be renamed
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            mount("overlay", target, "overlay", flags, options)

    def _rebuild(self, path: str) -> None:
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except OSError:
            self._bind_read_only(path)
            return
        if len(entries) > _MOST_ENTRIES:
            self._bind_read_only(path)
            return
        _copy_attributes(path, self._new + path)
        self.covered.append(path)
        points = {found.point for found in self._mounts}
        for entry in entries:
            place = self._new + entry.path
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), place)
            elif entry.is_dir(follow_symlinks=False):
                os.mkdir(place)
                if entry.path in points or entry.path in _APART or place == self._new + self._new:
                    continue
                if self._holds_mounts(entry.path):
                    self._rebuild(entry.path)
                else:
                    self._cover_folder(entry.path)
            elif entry.is_file(follow_symlinks=False):
                self._copy_or_bind(entry)

    def _copy_or_bind(self, entry: "os.DirEntry[str]") -> None:
        place = self._new + entry.path
        if entry.stat(follow_symlinks=False).st_size <= _COPIED_BYTES:
            with contextlib.suppress(PermissionError):  # unreadable for this user outside as well
                shutil.copyfile(entry.path, place)
                shutil.copystat(entry.path, place)
            return
        self._bind_file(entry.path)

    def _bind_file(self, path: str) -> None:
        place = self._new + path
        if not os.path.lexists(place):
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "xb"):
                pass
        mount(path, place, None, MS_BIND)
        self._seal(place, path)

    def _bind_read_only(self, path: str) -> None:
        mount(path, self._new + path, None, MS_BIND | MS_REC)
        self._seal(self._new + path, path)

    def _seal(self, place: str, path: str) -> None:
        seal(place)
        self.read_only.append(path)

    def _holds_mounts(self, path: str) -> bool:
        return any(found.point != path and is_below(found.point, path) for found in self._mounts) or (
            path != "/" and any(is_below(apart, path) for apart in _APART)
        )


def seal(place: str) -> None:
    """Make everything mounted at `place` and below read-only."""
    try:
        make_read_only(place)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
            below = [found for found in parse(table.read()) if is_below(found.point, place)]
        for found in below:
            flags = sum(value for name, value in _FLAGS.items() if name in found.flags)
            mount("none", found.point, None, MS_REMOUNT | MS_BIND | MS_RDONLY | flags)


def _apart(point: str) -> bool:
    return any(is_below(point, apart) for apart in _APART)


def _escaped(path: str) -> str:
    """Escape a path for overlay's option text."""
    return path.replace("\\", "\\\\").replace(",", "\\,")


def _copy_attributes(source: str, target: str) -> None:
    """Give an upper folder the mode and owner of what it covers: overlay shows the upper's own."""
    status = os.stat(source)
    with contextlib.suppress(PermissionError, OSError):
        os.chown(target, status.st_uid, status.st_gid)
    os.chmod(target, stat.S_IMODE(status.st_mode))
