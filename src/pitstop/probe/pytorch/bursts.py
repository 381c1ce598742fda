"""Short steps are looked at in bursts: all details for a while, then only where steps end, and so on.

All details of a step cost about 20 us however short it is, its end alone 5 us (bench/overhead/pieces.py). The two seconds at the
beginning and whatever follows an `iter(loader)` (epoch edges, evaluations) are always seen in detail; `pitstop.diagnose` fills the
pauses, which MARK events delimit, with what the plain steps of the bursts were made of.
"""

import time

from ..recorder import MARK, MARK_PAUSE, MARK_RESUME, OPTIMIZER, STEP

SHORT_STEP_NS = 2_000_000  # longer ones are always seen in detail: that costs a hundredth of them at most
FIRST_NS = 2_000_000_000
BURST_NS = 200_000_000
PAUSE_NS = 1_000_000_000
LOOK_STEPS = 64


class Bursts:
    """Takes the detailed hooks of `hooked.switched` away for a while, and puts them back. `now`: the time in nanoseconds."""

    def __init__(self, hooked, now=time.monotonic_ns):
        self._hooked = hooked
        self._now = now
        self.forget()

    def forget(self):
        """Begin anew, all details on; also in a forked child."""
        self.paused = False
        self._wanted_ns = FIRST_NS
        self._hooked.clock.after(1, self._begin)

    def resume(self):
        """See details again, if they are not seen."""
        if not self.paused:
            return
        self.paused = False
        self._hooked.switched.put()
        self._mark(MARK_RESUME)
        if self._hooked.session.sampler is not None:
            self._hooked.session.sampler.resume()
        self._wanted_ns = BURST_NS
        self._begin()

    def _begin(self):
        self._since_ns = self._now()
        self._since_steps = self._hooked.clock.steps
        self._hooked.clock.after(LOOK_STEPS, self._look)

    def _look(self):
        if self.paused or self._hooked.session.compiles:
            return  # in a program that compiles, dynamo may have guarded the hooks: they stay
        elapsed_ns = self._now() - self._since_ns
        steps = self._hooked.clock.steps - self._since_steps
        short = self._hooked.clock.leading in {OPTIMIZER, STEP} and 0 < elapsed_ns < steps * SHORT_STEP_NS
        if not short:
            self._begin()
        elif elapsed_ns < self._wanted_ns:
            self._hooked.clock.after(LOOK_STEPS, self._look)
        else:
            self._pause(max(LOOK_STEPS, PAUSE_NS * steps // elapsed_ns))

    def _pause(self, steps):
        self.paused = True
        self._hooked.switched.take()
        self._mark(MARK_PAUSE)
        if self._hooked.session.sampler is not None:
            self._hooked.session.sampler.pause()
        self._hooked.clock.after(steps, self.resume)

    def _mark(self, what):
        now_ns = self._now()
        self._hooked.record(MARK, what, now_ns, now_ns)
