"""Hooks that are not always needed: while they are away torch has its own functions back, and they cost nothing.

In a step of 0.3 ms every Python call of ours starts from cold caches and costs microseconds (bench/overhead/pieces.py).
"""

from ..recorder import OPTIMIZER, STEP

FIRST_LOOK_STEPS = 3
LATER_LOOK_STEPS = 64
LOSS_STEPS = 3  # before the end, from which on backward is watched again: the last loss says whether training went on


class Switched:
    """`patch` and `add` tell of hooks, `put` and `take` move them all. A clock does so itself; for profiles see `bursts`.

    A clock that knows its last step takes them away for most of its steps: they leave once an optimizer or `pitstop.step()`
    ends the steps, and are back shortly before the last one. In a program that compiles they stay away: dynamo may have
    guarded them, and a guard that fails is a recompile in mid-window.
    """

    def __init__(self, hooked):
        self._hooked = hooked
        self._hooks = []  # (what puts it in place, what takes it away)
        self._last_step = hooked.session.config.get("stop_after_steps")
        if not hooked.profile and self._last_step is not None:
            hooked.clock.after(FIRST_LOOK_STEPS, self._look)

    def add(self, put, take):
        """Take in what puts a hook in place and what takes it away; it is in place already."""
        self._hooks.append((put, take))

    def patch(self, owner, name, wrapper):
        """Put `wrapper` in the place of the attribute `name` of a class or module. Patches of others over ours are left alone."""
        original = getattr(owner, name)

        def replace(old, new):
            if getattr(owner, name) is old:
                setattr(owner, name, new)

        replace(original, wrapper)
        self.add(lambda: replace(original, wrapper), lambda: replace(wrapper, original))

    def put(self):
        """Put all hooks in place."""
        for put, _take in self._hooks:
            put()

    def take(self):
        """Give torch its own functions back."""
        for _put, take in self._hooks:
            take()

    def _look(self):
        clock = self._hooked.clock
        if clock.leading not in {OPTIMIZER, STEP}:
            clock.after(LATER_LOOK_STEPS, self._look)
            return
        left = self._last_step - LOSS_STEPS - clock.steps
        if left > 0:
            self.take()
            if not self._hooked.session.compiles:
                clock.after(left, self.put)
