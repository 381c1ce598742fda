"""What the user's program may say to the probe: `pitstop.step()` comes here through `pitstop.__init__`."""

import time

from .recorder import STEP

_session = None


def connect(session):
    """Let `step` reach this process's session."""
    global _session
    _session = session


def step():
    """Take in that the program says: a step has ended."""
    session = _session
    if session is None:
        return
    now_ns = time.monotonic_ns()
    session.recorder.record(STEP, 0, now_ns, now_ns)
    session.clock.tick(STEP)
