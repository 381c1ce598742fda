"""Writes the steps that wait: each at first and in a slow loop, else after so many as take the recorder's wait."""

import time

from ..recorder import AT_ONCE, WAIT_NS


class Writing:
    """Calls the recorder's `flush` in the rhythm of the steps, for those who `put` events."""

    def __init__(self, clock, recorder):
        self._clock = clock
        self._recorder = recorder
        self.forget()

    def forget(self):
        """Begin anew; also in a forked child."""
        self._written_ns, self._written_steps = time.monotonic_ns(), 0
        self._clock.after(1, self._write)

    def _write(self):
        self._recorder.flush()
        now_ns, steps = time.monotonic_ns(), self._clock.steps
        each_ns = (now_ns - self._written_ns) // max(1, steps - self._written_steps)
        self._written_ns, self._written_steps = now_ns, steps
        many = 1 if steps < AT_ONCE else max(1, WAIT_NS // max(1, each_ns))
        self._clock.at_next_step(self._write, min(many, AT_ONCE))
