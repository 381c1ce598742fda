"""Limits that a container or a job scheduler set: CPU quota, memory, throttling (cgroup v1 and v2)."""

from pathlib import Path

import msgspec

__all__ = ["CgroupLimits", "read_limits", "read_throttled_ns"]

_NO_LIMIT_BYTES = 1 << 60  # v1 writes a number near 2**63 for "none"


class CgroupLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The tightest limits over this process's groups and all above them; None where there is none."""

    cpus: float | None = None
    memory_bytes: int | None = None
    memory_free_bytes: int | None = None  # limit - used + what the kernel would give back (inactive file pages)


def read_limits(root: Path = Path("/")) -> CgroupLimits:
    """Read the limits of this process; `root` stands for the file system's root."""
    cpus: list[float] = []
    memory: list[int] = []
    free: list[int] = []
    for group in _groups(root, "cpu"):
        quota = _quota(group)
        if quota is not None:
            cpus.append(quota)
    for group in _groups(root, "memory"):
        limit = _number(group / "memory.max", group / "memory.limit_in_bytes")
        if limit is not None and limit < _NO_LIMIT_BYTES:
            memory.append(limit)
            used = _number(group / "memory.current", group / "memory.usage_in_bytes") or 0
            returned = _table(group / "memory.stat").get("inactive_file", 0)
            free.append(max(0, limit - used + returned))
    return CgroupLimits(
        cpus=min(cpus, default=None), memory_bytes=min(memory, default=None), memory_free_bytes=min(free, default=None)
    )


def read_throttled_ns(root: Path = Path("/")) -> int | None:
    """Return how long the groups' CPU quota has stopped their processes so far, None where no group keeps the count."""
    found = []
    for group in _groups(root, "cpu"):
        counts = _table(group / "cpu.stat")
        if "throttled_usec" in counts:
            found.append(counts["throttled_usec"] * 1000)
        elif "throttled_time" in counts:
            found.append(counts["throttled_time"])
    return sum(found) if found else None


def _groups(root: Path, controller: str) -> list[Path]:
    """Return this process's group of `controller` and all above it that are visible here, v1 and v2."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found: list[Path] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        names = (controllers, controller) if controllers else ("", "unified")
        for name in names:
            top = root / "sys/fs/cgroup" / name
            if not top.is_dir():
                continue
            group = top / path.lstrip("/")
            below = group if group.is_dir() else top  # a container may see its group as the top
            while True:
                found.append(below)
                if below == top:
                    break
                below = below.parent
            break
    return found


def _quota(group: Path) -> float | None:
    try:
        quota, period = (group / "cpu.max").read_text().split()
    except (OSError, ValueError):
        limit = _number(group / "cpu.cfs_quota_us")
        every = _number(group / "cpu.cfs_period_us")
        return limit / every if limit and every and limit > 0 else None
    return None if quota == "max" else int(quota) / int(period)


def _number(*candidates: Path) -> int | None:
    for path in candidates:
        try:
            return int(path.read_text())
        except (OSError, ValueError):
            continue
    return None


def _table(path: Path) -> dict[str, int]:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split() for line in lines)
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
