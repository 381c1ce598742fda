"""Hooks that a clock needs only until it knows what ends the steps: then torch has its own functions back, and they cost nothing.

In a step of 0.3 ms every Python call of ours starts from cold caches and costs microseconds (bench/overhead/pieces.py).
"""

from ..recorder import OPTIMIZER, STEP

FIRST_LOOK_STEPS = 3
LATER_LOOK_STEPS = 64
LOSS_STEPS = 3  # before the end, from which on backward is watched again: the last loss says whether training went on


class Switched:
    """`patch` puts wrappers in place; a clock that knows its last step takes them away for most of its steps.

    They leave once an optimizer or `pitstop.step()` ends the steps, and are back shortly before the last one. They stay in a
    program that compiles: dynamo may have guarded them, and a guard that fails is a recompile in mid-window.
    """

    def __init__(self, hooked):
        self._hooked = hooked
        self._patches = []  # (owner, name, wrapper, original)
        self._last_step = hooked.session.config.get("stop_after_steps")
        if not hooked.profile and self._last_step is not None:
            hooked.clock.after(FIRST_LOOK_STEPS, self._look)

    def patch(self, owner, name, wrapper):
        """Put `wrapper` in the place of the attribute `name` of a class or module."""
        self._patches.append((owner, name, wrapper, getattr(owner, name)))
        setattr(owner, name, wrapper)

    def put(self):
        """Put all wrappers in place, but where somebody else has patched meanwhile."""
        for owner, name, wrapper, original in self._patches:
            if getattr(owner, name) is original:
                setattr(owner, name, wrapper)

    def take(self):
        """Give torch its own functions back, but where somebody else has patched over ours."""
        for owner, name, wrapper, original in self._patches:
            if getattr(owner, name) is wrapper:
                setattr(owner, name, original)

    def _look(self):
        clock = self._hooked.clock
        if self._hooked.session.compiles:
            return
        if clock.leading not in {OPTIMIZER, STEP}:
            clock.after(LATER_LOOK_STEPS, self._look)
            return
        left = self._last_step - LOSS_STEPS - clock.steps
        if left > 0:
            self.take()
            clock.after(left, self.put)
