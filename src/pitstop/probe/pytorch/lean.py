"""Steps in a pause: only the time at which each ended is kept, until the clock wants to look, or twenty milliseconds are over.

Counting, looking up the optimizer and keeping an event start three Python functions from cold caches, in every step; together for
sixty steps they cost next to nothing (bench/overhead/pieces.py).
"""

import time
from _thread import get_ident

from ..recorder import OPTIMIZER, WAIT_NS

_NEVER_NS = 1 << 62


class Lean:
    """`key`: id of the optimizer whose steps in `thread` are kept so, or None.

    Its hook appends to `times` and calls `catch_up` after `many` or at `due_ns`.
    """

    def __init__(self, hooked):
        self._hooked = hooked
        self.times = []
        self.forget()

    def forget(self):
        """Begin anew; also in a forked child."""
        self.key = None
        self.many, self.due_ns = 1, _NEVER_NS
        self._number = self.thread = self._ends_ns = 0
        self.times.clear()

    def begin(self, lasts_ns):
        """Keep the leading optimizer's steps in this thread so from here on; look at the time when `lasts_ns` are over."""
        clock = self._hooked.clock
        if clock.leading != OPTIMIZER:
            return
        keys = [key for key, entry in list(self._hooked.optimizers.known.items()) if entry[0] == clock.leader]
        if keys:
            self._number, self.thread = clock.leader, get_ident()
            self.many, self.due_ns, self._ends_ns = 1, 0, time.monotonic_ns() + lasts_ns
            self.key = keys[0]

    def end(self):
        """Record and count what waits. Nothing is due after it, or `catch_up` would have been called."""
        self.key = None
        self._hooked.clock.skip(OPTIMIZER, len(self._write()))

    def catch_up(self):
        """Record and count what waits, its last step as every other one: what is due after it happens now."""
        try:
            batch = self._write()
            if not batch:  # another thread has just ended the pause
                return
            last_ns, clock = batch[-1], self._hooked.clock
            clock.skip(OPTIMIZER, len(batch) - 1)
            if last_ns >= self.due_ns:
                self._hooked.session.recorder.flush()
            clock.tick(OPTIMIZER)
            if self._hooked.bursts is not None:
                self._hooked.bursts.look_at_time()
            self.many, self.due_ns = clock.until_look(OPTIMIZER), min(self._ends_ns, last_ns + WAIT_NS)
        except Exception as error:
            self._hooked.session.fault("Optimizer.step", error)

    def _write(self):
        batch = self.times[:]
        del self.times[: len(batch)]
        for end_ns in batch:
            self._hooked.session.recorder.put((OPTIMIZER, 0, self.thread, self._number, end_ns, end_ns, 0))
        return batch
