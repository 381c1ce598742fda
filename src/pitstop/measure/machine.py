"""What this machine gives a program: processors, memory, and what tells it from another machine."""

import os
import platform
from pathlib import Path

import msgspec

from pitstop.measure.cgroup import read_limits

__all__ = ["Machine", "available_memory_bytes", "fingerprint", "read_machine"]

# CPU features that decide which kernels a framework picks (oneDNN, cpuinfo).
_FLAGS_OF_INTEREST = frozenset(
    {"avx", "avx2", "fma", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni"}
    | {"amx_tile", "amx_bf16", "amx_int8"}
    | {"asimd", "asimdhp", "asimddp", "sve", "sve2", "bf16", "i8mm"}
)


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Resources that a program started from here can use; memory counts limits of its cgroups."""

    cpus: int  # by affinity and quota, at least 1
    affinity: tuple[int, ...]  # numbers of the processors that it may run on
    quota_cpus: float | None
    memory_bytes: int
    available_bytes: int


def read_machine(root: Path = Path("/")) -> Machine:
    """Observe the machine now; `root` stands for the file system's root. Raises OSError without /proc."""
    limits = read_limits(root)
    affinity = tuple(sorted(os.sched_getaffinity(0)))
    # A quota of 1.5 CPUs lets two threads run, but throttles them: count whole CPUs, at least one.
    cpus = len(affinity) if limits.cpus is None else max(1, min(len(affinity), int(limits.cpus)))
    kibibytes = _meminfo(root)
    total, available = kibibytes["MemTotal"] * 1024, kibibytes["MemAvailable"] * 1024
    if limits.memory_bytes is not None and limits.memory_free_bytes is not None:
        total, available = min(total, limits.memory_bytes), min(available, limits.memory_free_bytes)
    return Machine(cpus=cpus, affinity=affinity, quota_cpus=limits.cpus, memory_bytes=total, available_bytes=available)


def available_memory_bytes() -> int:
    """Return how much memory a program started now could use before something is killed."""
    return read_machine().available_bytes


def fingerprint(root: Path = Path("/")) -> dict[str, str]:
    """Return what must be alike for two measurements to be compared: processor, its features, kernel, Python, memory."""
    machine = read_machine(root)
    cpu = _cpuinfo(root)
    flags = (cpu.get("flags") or cpu.get("Features") or "").split()
    return {
        "cpu_model": cpu.get("model name") or cpu.get("CPU part") or platform.machine(),
        "cpu_flags": " ".join(sorted(_FLAGS_OF_INTEREST.intersection(flags))),
        "cpus": str(machine.cpus),
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "memory_gib": f"{machine.memory_bytes / (1 << 30):.0f}",
        "python": platform.python_version(),
        "libc": " ".join(platform.libc_ver()),
    }


def _meminfo(root: Path) -> dict[str, int]:
    rows = (line.split() for line in (root / "proc/meminfo").read_text().splitlines())
    return {row[0].rstrip(":"): int(row[1]) for row in rows if len(row) >= 2}


def _cpuinfo(root: Path) -> dict[str, str]:
    """Return the first processor's entries."""
    first = (root / "proc/cpuinfo").read_text().split("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}
