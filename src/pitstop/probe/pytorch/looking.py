"""Looks at where calls come from, for a while: the first steps, and again when a new loader begins (an evaluation, say).

Walking the stack costs microseconds, so the hot path only asks `open`.
"""

import sys

from ..recorder import FETCH
from ..sites import library, stack, user_frame

FIRST_STEPS = 50
LATER_STEPS = 20
MAX_SEEN = 64  # places per process


class Looking:
    """`open` tells whether the hooks should look; `is_new` remembers what was seen."""

    def __init__(self, hooked):
        self._clock = hooked.clock
        self._seen = set()
        self._wanted = hooked.profile
        self._closing_step = 0
        self.open = self._wanted
        self._clock.after(FIRST_STEPS, self._close)

    def again(self):
        """Look again for some steps."""
        if self._wanted and len(self._seen) < MAX_SEEN:
            self.open = True
            self._closing_step = self._clock.steps + LATER_STEPS
            self._clock.after(LATER_STEPS, self._close)

    def is_new(self, *what):
        """Tell whether this kind of call comes from a place of the user's code for the first time."""
        frame = user_frame(sys._getframe(2))
        if frame is None:
            return False
        key = (frame.f_code, frame.f_lasti, *what)
        if key in self._seen:
            return False
        self._seen.add(key)
        if len(self._seen) >= MAX_SEEN:
            self.open = False
        return True

    def stack(self):
        """Return the user's stack at the hook's caller, as `Site` fields."""
        return stack(sys._getframe(2))

    def library(self):
        """Return the package between the user's code and the hook's caller (`sites.library`)."""
        return library(sys._getframe(2))

    def _close(self):
        if self._clock.leading == FETCH:  # batches alone: the first step may be yet to come
            self._clock.after(max(LATER_STEPS, self._clock.steps), self._close)
        elif self._clock.steps >= self._closing_step:
            self.open = False
