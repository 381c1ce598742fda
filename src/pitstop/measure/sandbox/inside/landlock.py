"""Landlock: the kernel refuses writes outside given folders, for this process and all that it starts.

Sources: linux/Documentation/userspace-api/landlock.rst; the ABI numbers below are its table of features.
Not covered by any ABI: chmod, chown, utime and extended attributes (`frozen_metadata.py` does those).
"""

import ctypes
import errno
import os

from .syscalls import syscall

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1

_WRITE_FILE, _REMOVE_DIR, _REMOVE_FILE = 1 << 1, 1 << 4, 1 << 5
_MAKE_ANY = sum(1 << bit for bit in range(6, 13))  # char, dir, regular, socket, fifo, block, symlink
_REFER = 1 << 13  # ABI 2
_TRUNCATE = 1 << 14  # ABI 3
_NET_CONNECT_TCP = 1 << 1  # ABI 4
_SCOPE_ABSTRACT_UNIX, _SCOPE_SIGNAL = 1 << 0, 1 << 1  # ABI 6
_FOR_FILES = _WRITE_FILE | _TRUNCATE


class _RulesetAttributes(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi() -> int:
    """Return the kernel's Landlock ABI, 0 where there is none."""
    try:
        return syscall("landlock_create_ruleset", _CREATE_RULESET, None, 0, _VERSION_FLAG)
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
            return 0
        raise


def restrict(*, writable: list[str], refuse_tcp: bool) -> None:
    """Allow writing beneath `writable` (folders or single files) only; optionally refuse every TCP connect.

    Needs no_new_privs. Raises OSError; a path that does not exist is left out.
    """
    version = abi()
    handled = _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_ANY
    handled |= _REFER if version >= 2 else 0
    handled |= _TRUNCATE if version >= 3 else 0
    net = _NET_CONNECT_TCP if refuse_tcp and version >= 4 else 0
    scoped = _SCOPE_ABSTRACT_UNIX | _SCOPE_SIGNAL if version >= 6 else 0
    attributes = _RulesetAttributes(handled, net, scoped)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = syscall("landlock_create_ruleset", _CREATE_RULESET, ctypes.byref(attributes), size, 0)
    try:
        for path in writable:
            _allow(ruleset, path, handled)
        syscall("landlock_restrict_self", _RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, handled: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        allowed = handled if os.path.isdir(path) else handled & _FOR_FILES
        rule = _PathBeneath(allowed, parent)
        syscall("landlock_add_rule", _ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(parent)
