"""Reading the probe's event files: the binary layout of `pitstop.probe.recorder`, into `Event`s in time order."""

from pathlib import Path
from typing import Any

import numpy as np

from pitstop.records import Event, EventKind

__all__ = ["EventFile", "read_events"]

_MAGIC = b"PITSTOP1"
_HEADER = np.dtype([("magic", "S8"), ("record_bytes", "<u4"), ("role", "<u4"), ("pid", "<u8"), ("rest", "V40")])
_RECORD = np.dtype(
    [
        ("kind", "u1"),
        ("flags", "u1"),
        ("thread", "<u2"),
        ("arg", "<u4"),
        ("start_ns", "<i8"),
        ("end_ns", "<i8"),
        ("value", "<i8"),
    ]
)
_ROLES = {1: "other", 2: "worker"}
_KINDS = {int(kind): kind for kind in EventKind}
# The file is sparse up to its capacity, and space is allocated in pieces of this size: a piece of zeros is the end.
_PIECE_BYTES = 256 << 10


class EventFile:
    """One process's events. `faults` says in words what was wrong with the file; what could be read is there all the same."""

    def __init__(self, *, pid: int, role: str, events: tuple[Event, ...], faults: tuple[str, ...]) -> None:
        self.pid = pid
        self.role = role
        self.events = events
        self.faults = faults


def read_events(path: Path) -> EventFile:
    """Return what the event file at `path` says; a damaged file yields its readable part and a fault, never an error."""
    try:
        header, records = _read(path)
    except OSError as error:
        return EventFile(pid=0, role="other", events=(), faults=(f"{path.name}: {error}",))
    if header is None:
        return EventFile(pid=0, role="other", events=(), faults=(f"{path.name}: no event file (header)",))
    faults = []
    whole = records[records["kind"] != 0]
    known = np.isin(whole["kind"], list(_KINDS)) & (whole["end_ns"] >= whole["start_ns"]) & (whole["start_ns"] > 0)
    if not known.all():
        first = int(np.argmin(known))
        faults.append(f"{path.name}: {int((~known).sum())} damaged records, the first is number {first}")
    ordered = whole[known]
    ordered = ordered[np.argsort(ordered["end_ns"], kind="stable")]
    return EventFile(
        pid=int(header["pid"]),
        role=_ROLES.get(int(header["role"]), "other"),
        events=_to_events(ordered),
        faults=tuple(faults),
    )


def _read(path: Path) -> tuple[Any, Any]:
    with path.open("rb") as file:
        head = file.read(_HEADER.itemsize)
        if len(head) < _HEADER.itemsize:
            return None, None
        header = np.frombuffer(head, _HEADER)[0]
        if header["magic"] != _MAGIC or header["record_bytes"] != _RECORD.itemsize:
            return None, None
        pieces = []
        while piece := file.read(_PIECE_BYTES):
            if not any(piece):
                break
            pieces.append(piece)
    data = b"".join(pieces)
    return header, np.frombuffer(data[: len(data) - len(data) % _RECORD.itemsize], _RECORD)


def _to_events(records: Any) -> tuple[Event, ...]:
    """Return the records as `Event`s; columns first, because one Python object per field of a numpy row is ten times slower."""
    columns = (records[name].tolist() for name in ("kind", "start_ns", "end_ns", "thread", "arg", "value", "flags"))
    return tuple(
        Event(kind=_KINDS[kind], start_ns=start, end_ns=end, thread=thread, arg=arg, value=value, flags=flags)
        for kind, start, end, thread, arg, value, flags in zip(*columns, strict=True)
    )
