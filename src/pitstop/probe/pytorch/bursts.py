"""Short steps are looked at in bursts: all details for a while, then only where steps end, and so on.

All details of a step cost about 26 us however short it is, its end alone 3 us (bench/overhead/pieces.py). The two seconds at the
beginning and whatever follows an `iter(loader)` (epoch edges, evaluations) are always seen in detail, unless loaders begin so often
that every burst sees several; `pitstop.diagnose` fills the pauses, which MARK events delimit, with what the bursts were made of.
"""

import threading
import time

from ..recorder import MARK, MARK_PAUSE, MARK_RESUME, OPTIMIZER, STEP

SHORT_STEP_NS = 3_000_000  # longer ones are always seen in detail: that costs a hundredth of them at most
FIRST_NS = 2_000_000_000
BURST_NS = 200_000_000
PAUSE_NS = 2_000_000_000
LOOK_STEPS = 64
STEPS_OF_PAUSE = 16  # after so many the time is looked at: steps may have become long
STEPS_OF_LEAN_PAUSE = 64  # there every step's end is looked at
OFTEN = 4  # loaders that begin in a burst


class Bursts:
    """Takes the detailed hooks of `hooked.switched` away for a while, and puts them back. `now`: the time in nanoseconds."""

    def __init__(self, hooked, now=time.monotonic_ns):
        self._hooked = hooked
        self._now = now
        self.forget()

    def forget(self):
        """Begin anew, all details on; also in a forked child."""
        # Loaders are iterated in threads too. Nobody waits for it: a signal handler of the program may iterate one in the middle
        # of a switch, in the very thread that holds it.
        self._switching = threading.Lock()
        self.paused = False
        self._paused_ns = 0
        self._wanted_ns = FIRST_NS
        self._begins, self._burst_ns = 0, self._now()  # loaders that began in this burst, and when it did
        self._often = False
        self._hooked.clock.after(1, self._begin)

    def loader_begins(self):
        """See details: what follows may be an epoch edge, or an evaluation, which no plain step resembles."""
        self._begins += 1
        if self._often:  # the bursts see enough of them
            return
        if self._hooked.session.sampler is not None:
            self._hooked.session.sampler.weight = 1
        self.resume()

    def resume(self, weight=1):
        """See details again, if they are not seen; a stack sample counts as `weight` for a while."""
        if not self.paused or not self._switching.acquire(False):
            return
        try:
            self.paused = False
            self._hooked.lean.end()
            self._hooked.switched.put()
            self._mark(MARK_RESUME)
            sampler = self._hooked.session.sampler
            if sampler is not None:
                sampler.weight = weight
                sampler.resume()
            self._wanted_ns = BURST_NS
            self._begins, self._burst_ns = 0, self._now()
            self._begin()
        finally:
            self._switching.release()

    def look_at_time(self):
        """End a pause that has lasted long enough, whatever the steps are doing."""
        if self.paused and self._now() - self._paused_ns >= PAUSE_NS:
            self.resume(1 + PAUSE_NS // max(1, BURST_NS))

    def _begin(self):
        self._since_ns = self._now()
        self._since_steps = self._hooked.clock.steps
        self._hooked.clock.at_next_step(self._look, LOOK_STEPS)

    def _look(self):
        if self.paused or self._hooked.session.compiles:
            return  # in a program that compiles, dynamo may have guarded the hooks: they stay
        elapsed_ns = self._now() - self._since_ns
        steps = self._hooked.clock.steps - self._since_steps
        short = self._hooked.clock.leading in {OPTIMIZER, STEP} and 0 < elapsed_ns < steps * SHORT_STEP_NS
        if not short:
            self._begin()
        elif elapsed_ns < self._wanted_ns:
            self._hooked.clock.at_next_step(self._look, LOOK_STEPS)
        else:
            self._pause()

    def _pause(self):
        if not self._switching.acquire(False):
            self._begin()
            return
        try:
            self.paused = True
            self._paused_ns = self._now()
            self._often = self._begins * BURST_NS >= OFTEN * (self._paused_ns - self._burst_ns)
            self._mark(MARK_PAUSE)
            self._hooked.lean.begin(PAUSE_NS)
            self._hooked.clock.at_next_step(self._still, self._steps_of_pause())
            self._hooked.switched.take()
            if self._hooked.session.sampler is not None:
                self._hooked.session.sampler.pause()
        finally:
            self._switching.release()

    def _still(self):
        self.look_at_time()
        if self.paused:
            self._hooked.clock.at_next_step(self._still, self._steps_of_pause())

    def _steps_of_pause(self):
        return STEPS_OF_PAUSE if self._hooked.lean.key is None else STEPS_OF_LEAN_PAUSE

    def _mark(self, what):
        now_ns = self._now()
        self._hooked.record(MARK, what, now_ns, now_ns)
