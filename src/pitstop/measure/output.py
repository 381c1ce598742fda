"""A trial's standard output and error, kept in files of bounded size: the beginning and the end."""

import os
import selectors
import threading
from pathlib import Path
from typing import IO

__all__ = ["CapturedOutput"]

_HEAD_BYTES = 4 << 20
_TAIL_BYTES = 1 << 20


class CapturedOutput:
    """Two pipes and a thread that empties them into the files `stdout` and `stderr` of `folder`.

    Give `writers` to the child and call `started()`; `finish()` once every writer has ended.
    """

    def __init__(self, folder: Path) -> None:
        self._streams: dict[int, _Kept] = {}
        writers = []
        for name in ("stdout", "stderr"):
            reader, writer = os.pipe()
            self._streams[reader] = _Kept((folder / name).open("wb"))
            writers.append(writer)
        self.writers: tuple[int, int] = (writers[0], writers[1])
        self._writers_closed = False
        self._thread = threading.Thread(target=self._pump, name="pitstop-output", daemon=True)

    def started(self) -> None:
        """Close our ends of the pipes and begin to read."""
        self._close_writers()
        self._thread.start()

    def finish(self, *, timeout_s: float = 5.0) -> None:
        """Write what was kept; waits for the pipes' end at most `timeout_s` (a process we could not end may hold them)."""
        self._close_writers()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        for kept in self._streams.values():
            kept.close()

    def _close_writers(self) -> None:
        if not self._writers_closed:
            self._writers_closed = True
            for writer in self.writers:
                os.close(writer)

    def _pump(self) -> None:
        with selectors.DefaultSelector() as selector:
            for reader in self._streams:
                selector.register(reader, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select():
                    data = os.read(key.fd, 1 << 16)
                    if data:
                        self._streams[key.fd].take(data)
                    else:
                        selector.unregister(key.fd)
                        os.close(key.fd)


class _Kept:
    """One file: the first `_HEAD_BYTES`, then a line that says how much is missing, then the last `_TAIL_BYTES`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._room = _HEAD_BYTES
        self._tail = bytearray()
        self._left_out = 0
        self._lock = threading.Lock()

    def take(self, data: bytes) -> None:
        with self._lock:
            if self._file.closed:
                return
            head, rest = data[: self._room], data[self._room :]
            self._file.write(head)
            self._file.flush()
            self._room -= len(head)
            self._tail += rest
            if len(self._tail) > 2 * _TAIL_BYTES:
                self._left_out += len(self._tail) - _TAIL_BYTES
                del self._tail[:-_TAIL_BYTES]

    def close(self) -> None:
        with self._lock:
            extra = max(0, len(self._tail) - _TAIL_BYTES)
            if self._left_out + extra:
                self._file.write(b"\n[pitstop: %d bytes left out]\n" % (self._left_out + extra))
            self._file.write(self._tail[extra:])
            self._file.close()
