"""What the user's program may keep: enough for a program that expects to be root, too little to undo the sandbox."""

import os
import resource

from .syscalls import (
    PR_CAP_AMBIENT,
    PR_CAP_AMBIENT_CLEAR_ALL,
    PR_CAPBSET_DROP,
    PR_SET_NO_NEW_PRIVS,
    prctl,
    set_capabilities,
)

# capabilities(7). Left out on purpose: DAC_READ_SEARCH (opens files by handle, past every mount), LINUX_IMMUTABLE,
# NET_ADMIN, SYS_MODULE, SYS_RAWIO, SYS_CHROOT, SYS_PTRACE, SYS_ADMIN, SYS_BOOT, SYS_TIME, MKNOD, SETFCAP, MAC_*, SYSLOG,
# BPF, PERFMON, CHECKPOINT_RESTORE.
_KEPT = {
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "FOWNER": 3,
    "FSETID": 4,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
    "NET_BIND_SERVICE": 10,
    "NET_RAW": 13,
    "IPC_LOCK": 14,
    "SYS_NICE": 23,
    "SYS_RESOURCE": 24,
}


def forbid_new_privileges() -> None:
    """No set-user-ID program gives anything from here on; Landlock and seccomp need it."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def drop(*, keep_root_powers: bool) -> None:
    """Give up capabilities for good: all of them, or all but those in `_KEPT`. No core files either."""
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as file:
        last = int(file.read())
    kept = {number for number in _KEPT.values() if keep_root_powers and _has(number)}
    if _has(8):  # SETPCAP
        for number in range(last + 1):
            if number not in kept:
                prctl(PR_CAPBSET_DROP, number)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    set_capabilities(sum(1 << number for number in kept))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _has(number: int) -> bool:
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        effective = next(line for line in status if line.startswith("CapEff:"))
    return bool(int(effective.split()[1], 16) >> number & 1)


def map_current_user(uid: int, gid: int) -> None:
    """Inside a fresh user namespace: be the same user as outside, and nobody else."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)
