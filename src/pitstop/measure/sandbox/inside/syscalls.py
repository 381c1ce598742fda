"""The Linux system calls that the sandbox needs and Python does not have, through ctypes."""

import ctypes
import os
import platform

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_NOATIME = 0x400
MS_NODIRATIME = 0x800
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MS_RELATIME = 0x200000

MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_SET_CHILD_SUBREAPER = 36
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

_AT_RECURSIVE = 0x8000
_AT_FDCWD = -100
_MOUNT_ATTR_RDONLY = 0x1
_MOUNT_SETATTR = 442  # one number on every architecture
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}
_CAPSET = {"x86_64": 126, "aarch64": 91, "riscv64": 91, "ppc64le": 184, "s390x": 185}
_CAP_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(name: str, number: int, *arguments: object) -> int:
    """Make one raw system call; raises OSError naming it."""
    converted = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *converted), name)


def unshare(flags: int) -> None:
    """Leave the namespaces of `flags` for new ones; raises OSError."""
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def prctl(option: int, *arguments: int) -> None:
    """Set a property of this process, up to four arguments (prctl(2)); raises OSError."""
    padded = (*arguments, 0, 0, 0, 0)[:4]
    _checked(_libc.prctl(ctypes.c_int(option), *(ctypes.c_ulong(value) for value in padded)), "prctl")


def mount(source: str, target: str, kind: str | None, flags: int = 0, data: str = "") -> None:
    """Mount (mount(2)); raises OSError naming kind and target."""
    encoded = [os.fsencode(value) if value is not None else None for value in (source, target, kind, data)]
    source_, target_, kind_, data_ = encoded
    result = _libc.mount(source_, target_, kind_, ctypes.c_ulong(flags), data_)
    _checked(result, f"mount {kind or 'bind'} on {target}")


def unmount_detached(target: str) -> None:
    """Take a mount and all below it out of the tree at once."""
    _checked(_libc.umount2(os.fsencode(target), ctypes.c_int(MNT_DETACH)), f"umount {target}")


def make_read_only(target: str) -> None:
    """Make the mount at `target` and all below it read-only; raises OSError (ENOSYS before Linux 5.12)."""
    attributes = (ctypes.c_uint64 * 4)(_MOUNT_ATTR_RDONLY, 0, 0, 0)
    path = ctypes.c_char_p(os.fsencode(target))
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    syscall("mount_setattr", _MOUNT_SETATTR, _AT_FDCWD, path, _AT_RECURSIVE, attributes, size)


def pivot_root(new: str) -> None:
    """Make `new`, a mount point, the root directory and forget the old one entirely."""
    os.chdir(new)
    syscall("pivot_root", _PIVOT_ROOT[platform.machine()], ctypes.c_char_p(b"."), ctypes.c_char_p(b"."))
    unmount_detached(".")  # old and new are stacked at "/": the one on top is the old root
    os.chdir("/")


def set_capabilities(mask: int) -> None:
    """Set permitted and effective capabilities to exactly `mask`, inheritable to none."""
    header = (ctypes.c_uint32 * 2)(_CAP_VERSION_3, 0)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    data = (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)
    syscall("capset", _CAPSET[platform.machine()], header, data)
