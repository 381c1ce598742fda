"""A /dev with what programs need (null, random, terminals of their own, accelerators) and no way to a disk or to memory."""

import os
import re
import stat

from .syscalls import MS_BIND, MS_NOEXEC, MS_NOSUID, MS_REC, mount

# Devices through which root changes the machine: raw memory, ports, console, input, storage controllers, other terminals.
_WITHHELD = re.compile(
    r"(mem|kmem|port|kmsg|nvram|console|fuse|cuse|autofs|loop-control|btrfs-control|uinput|uhid|userfaultfd|hpet|rtc\d*|ptp\d*|vcs.*"
    r"|watchdog.*|tty\d+|ttyS.*|nvme\d+|ng\d+n\d+|sg\d+|bsg|mapper|input|block|disk|snapshot|mtd.*|ipmi.*|vhost-.*|net|kvm|cpu|cpu_dma_latency|hwrng|vga_arbiter|vsock|mei\d*|tpm.*)"
)
_OWN = {"shm", "mqueue", "pts", "ptmx", "hugepages", "fd", "stdin", "stdout", "stderr", "core"}


def usable_devices(folder: str = "/dev") -> list[str]:
    """Return paths of the character devices below `folder` that a program may have."""
    found = []
    for entry in os.scandir(folder):
        if entry.name in _OWN or _WITHHELD.fullmatch(entry.name):
            continue
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
        except OSError:
            continue
        if stat.S_ISCHR(mode):
            found.append(entry.path)
        elif stat.S_ISDIR(mode) and os.access(entry.path, os.R_OK | os.X_OK):
            found += usable_devices(entry.path)
    return found


def build(new: str) -> None:
    """Mount a fresh /dev under the root `new`: shared memory and message queues are private and start empty."""
    target = f"{new}/dev"
    mount("tmpfs", target, "tmpfs", MS_NOSUID, "mode=755,size=1m")
    for device in usable_devices():
        place = f"{new}{device}"
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "xb"):
            pass
        mount(device, place, None, MS_BIND)
    for name, leads_to in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{leads_to}", f"{target}/{name}")
    os.mkdir(f"{target}/shm")
    size = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None  # noqa: S108 - asking for its size only
    limit = size.f_blocks * size.f_frsize if size and size.f_blocks else 0
    mount("tmpfs", f"{target}/shm", "tmpfs", MS_NOSUID, f"mode=1777,size={limit}" if limit else "mode=1777")
    os.mkdir(f"{target}/mqueue")
    mount("mqueue", f"{target}/mqueue", "mqueue", MS_NOSUID | MS_NOEXEC)
    os.mkdir(f"{target}/pts")
    mount("devpts", f"{target}/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", f"{target}/ptmx")
    if os.path.isdir("/dev/hugepages"):
        os.mkdir(f"{target}/hugepages")
        mount("/dev/hugepages", f"{target}/hugepages", None, MS_BIND | MS_REC)
