"""When the device worked on each forward, backward and optimizer step: a CUDA event before and after, read once both have happened.

Nothing waits for the device: events that it has not reached yet are asked again a step later. Recording one costs about a microsecond
of the host; short steps, for which that is dear, are looked at in bursts anyway (`bursts`), and the hooks that place events are among
those that bursts take away.
"""

from _thread import get_ident
from typing import Any

from ..recorder import DEVICE

AFTER_STEPS = 2  # the device is known to be used by then
MOST_WAITING = 4096  # calls that the device has not come to; more are let go
REANCHOR_MS = 60_000.0  # an elapsed time is a 32-bit float of milliseconds: fine to 4 us up to here
STEPS_WITHOUT = 16  # between looks while no calls are marked: a pause of the probe
UNIT_NS = 100  # of the duration, see `pitstop.records.EventKind.DEVICE`
_MOST_UNITS = 0xFFFFFFFF


def install(hooked):
    """Begin once the program has used a CUDA device for some steps."""
    hooked.clock.after(AFTER_STEPS, hooked.device.start)


class DeviceMarks:
    """`on` says whether to call `begin` before a call and `end` after it, in the thread that made it. Neither raises."""

    def __init__(self, hooked):
        self._hooked = hooked
        self.forget()

    def forget(self):
        """Begin anew, off; also in a forked child, where CUDA cannot be used."""
        self.on = False
        self._waiting = []
        self._free = []
        self._anchor: Any = None
        self._anchor_ns = 0

    def start(self):
        """Turn on where a CUDA device is in use; else never look again."""
        cuda = self._hooked.torch.cuda
        try:
            if self._hooked.session.is_worker or not cuda.is_initialized():
                return
            if cuda.is_current_stream_capturing():
                self._hooked.clock.after(AFTER_STEPS, self.start)
                return
            self._anchor = self._event()
            self._anchor.record()
            self.on = True
            self._hooked.clock.after(1, self._collect)
        except Exception as error:
            self._fail(error)

    def begin(self):
        """Return a token for `end`: an event that the device reaches when it begins with what the host asks for next; None if it cannot be."""
        try:
            if self._hooked.torch.cuda.is_current_stream_capturing():  # it would become part of the program's graph
                return None
            event = self._event()
            event.record()
        except Exception as error:
            self._fail(error)
            return None
        return event

    def end(self, begun, kind, start_ns, end_ns):
        """Take in that the call of `kind` that began with `begun` is over; times are the host's, of the event that is recorded for it."""
        if begun is None or not self.on:
            return
        try:
            if self._hooked.torch.cuda.is_current_stream_capturing():
                return
            event = self._event()
            event.record()
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append((begun, event, kind, start_ns, end_ns, get_ident()))
        except Exception as error:
            self._fail(error)

    def _event(self):
        return self._free.pop() if self._free else self._hooked.torch.cuda.Event(enable_timing=True)

    def _collect(self):
        """Record the calls that the device is done with; asked at every step that looks."""
        if not self.on:
            return
        try:
            self._read()
        except Exception as error:
            self._fail(error)
            return
        self._hooked.clock.at_next_step(self._collect, 1 if self._waiting else STEPS_WITHOUT)

    def _read(self):
        put, done = self._hooked.session.recorder.put, 0
        for begun, ended, kind, start_ns, end_ns, ident in self._waiting:
            if not ended.query():
                break
            done += 1
            begin_ms = self._anchor.elapsed_time(begun)
            units = round(begun.elapsed_time(ended) * 1e6 / UNIT_NS)
            value = self._anchor_ns + round(begin_ms * 1e6)
            put((DEVICE, kind, ident, min(max(units, 0), _MOST_UNITS), start_ns, end_ns, value))
            if begin_ms > REANCHOR_MS:
                self._anchor, self._anchor_ns = begun, value
                self._free.append(ended)
            else:
                self._free += (begun, ended)
        del self._waiting[:done]

    def last(self):
        """Record what can be had of the calls that still wait: the program ends."""
        if self.on:
            try:
                self._read()
            except Exception as error:
                self._fail(error)

    def _fail(self, error):
        self.on = False
        self._waiting.clear()
        self._hooked.session.fault("device events", error)
