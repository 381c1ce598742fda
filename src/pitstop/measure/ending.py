"""Nothing of a trial outlives it: processes that escaped their group, shared memory, message queues."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["MARK", "SharedMemoryBefore", "as_subreaper", "end_marked"]

MARK = "PITSTOP_TRIAL"  # environment variable that tells a trial's processes from all others
_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
_SHM = Path("/dev/shm")  # noqa: S108 - the kernel's place for POSIX shared memory, not a temporary file
_IPC_RMID = 0


@contextlib.contextmanager
def as_subreaper() -> Iterator[None]:
    """While inside, orphaned descendants become children of this process instead of init's, so that they can be found."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = ctypes.c_int()
    libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before))
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, before.value)


def end_marked(mark: str, *, known: set[int], timeout_s: float = 5.0) -> int:
    """Kill every process that carries `mark` in its environment, or is one of `known` and now our child; returns how many.

    Goes on until none is found or `timeout_s` is over (a process in an uninterruptible wait of the kernel).
    """
    killed: set[int] = set()
    deadline = time.monotonic() + timeout_s
    while True:
        found = _marked(mark) | {pid for pid in known if _parent(pid) == os.getpid()}
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)  # an orphan of the trial; never a child that someone else waits for
        killed |= found
        if not found or time.monotonic() > deadline:
            return len(killed)
        time.sleep(0.01)


def _marked(mark: str) -> set[int]:
    wanted = f"{MARK}={mark}".encode()
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.add(int(entry.name))
    return found


def _parent(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except OSError:
        return None


class SharedMemoryBefore:
    """What shared memory there was before a trial that has no IPC namespace of its own; `remove_new` afterwards."""

    def __init__(self) -> None:
        self._files = set(_own_files())

    def remove_new(self, *, pids: set[int]) -> list[str]:
        """Remove what the trial left: files of ours that are new and that nobody has open, and segments made by `pids`."""
        new = set(_own_files()) - self._files
        removed = []
        if new:
            used = _in_use()
            for path in new:
                if str(path) not in used:
                    with contextlib.suppress(FileNotFoundError):
                        path.unlink()
                        removed.append(str(path))
        for kind, remove in (("shm", "shmctl"), ("msg", "msgctl")):
            removed += _remove_system_v(kind, remove, pids)
        return removed


def _own_files() -> list[Path]:
    if not _SHM.is_dir():
        return []
    found = []
    for path in _SHM.iterdir():
        with contextlib.suppress(OSError):
            if path.lstat().st_uid == os.geteuid() and path.is_file():
                found.append(path)
    return found


def _in_use() -> set[str]:
    """Files below /dev/shm that any process maps or has open."""
    used = set()
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            for line in (process / "maps").read_text(errors="replace").splitlines():
                if "/dev/shm/" in line:  # noqa: S108
                    used.add(line[line.index("/dev/shm/") :])  # noqa: S108
        with contextlib.suppress(OSError):
            for descriptor in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    used.add(str(descriptor.readlink()))
    return used


def _remove_system_v(kind: str, remove: str, pids: set[int]) -> list[str]:
    """Shared memory segments know who made them, message queues who used them last; semaphores know neither and stay."""
    table = Path(f"/proc/sysvipc/{kind}")
    if not table.exists():
        return []
    header, *rows = (line.split() for line in table.read_text().splitlines())
    identity = header.index("shmid" if kind == "shm" else "msqid")
    makers = [header.index(name) for name in (("cpid",) if kind == "shm" else ("lspid", "lrpid"))]
    libc = ctypes.CDLL(None, use_errno=True)
    removed = []
    for row in rows:
        if any(int(row[maker]) in pids for maker in makers):
            getattr(libc, remove)(int(row[identity]), _IPC_RMID, None)
            removed.append(f"{kind} {row[identity]}")
    return removed
