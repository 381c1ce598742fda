"""Counts calls of known slow functions by the line of the user's that makes them, and says so when the program ends.

What is watched here happens some times per step at most: a call costs about 2 us. Calls before the first step ended are not
counted: setting up may do what a step should not.
"""

import functools
import sys
import time
from _thread import get_ident

from .sites import stack, user_frame

MAX_PLACES = 128


class CallLog:
    """`watch` puts a counting wrapper in the place of a function; `write` says what was counted."""

    def __init__(self, session):
        self._session = session
        self._clock = session.clock
        self._running = set()  # threads inside a watched call: what it calls itself is part of it
        self.forget()

    def forget(self):
        """In a forked child: its calls are its own."""
        self._places = {}  # (function, code, instruction) -> [calls, nanoseconds, stack]
        self._running.clear()

    def watch(self, *names, function, own, kind=None, category=None):
        """Count calls of what all `names`, pairs of owner and attribute, stand for as those of `function`.

        `own(wrapper, category)` makes the wrapper known as the probe's. `kind`: the events that the calls are, if any.
        """
        owner, name = names[0]
        original = getattr(owner, name)
        now, add, record, running = time.monotonic_ns, self.add, self._session.recorder.record, self._running

        @functools.wraps(original)
        def call(*args, **kwargs):
            ident = get_ident()
            if ident in running:
                return original(*args, **kwargs)
            running.add(ident)
            start_ns = now()
            try:
                return original(*args, **kwargs)
            finally:
                end_ns = now()
                running.discard(ident)
                if kind is not None:
                    record(kind, 0, start_ns, end_ns)
                add(function, end_ns - start_ns, sys._getframe(1))

        wrapper = own(call, category)
        for owner, name in names:
            if getattr(owner, name, None) is original:
                setattr(owner, name, wrapper)

    def add(self, function, elapsed_ns, frame):
        """Take in one call that took `elapsed_ns`, made at or inside `frame`. Never raises."""
        try:
            users = user_frame(frame)
            if self._clock.steps == 0 or users is None:
                return
            key = (function, users.f_code, users.f_lasti)
            entry = self._places.get(key)
            if entry is None:
                if len(self._places) >= MAX_PLACES:
                    return
                entry = self._places[key] = [0, 0, stack(users)]
            entry[0] += 1
            entry[1] += elapsed_ns
        except Exception as error:
            self._session.fault("call of " + function, error)

    def write(self):
        """Say how often each place has called what, in how many steps."""
        steps = max(1, self._clock.steps - 1)  # the first is not counted
        for number, (key, (calls, total_ns, places)) in enumerate(list(self._places.items()), start=1):
            self._session.sightings.write(
                "calls", id=number, function=key[0], stack=places, calls=calls, total_ns=total_ns, steps=steps
            )
