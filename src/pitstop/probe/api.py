"""What the user's program may say to the probe: `pitstop.step()` comes here through `pitstop.__init__` or `provided`."""

import time

from .recorder import STEP

_session = None


def connect(session):
    """Let `step` reach this process's session."""
    global _session
    _session = session


def session():
    """Return this process's session; None where nothing watches."""
    return _session


def step():
    """Take in that the program says: a step has ended. Never raises."""
    known = _session
    if known is None:
        return
    if not known.is_told_steps:
        known.told_first_step()
    now_ns = time.monotonic_ns()
    known.recorder.record(STEP, 0, now_ns, now_ns)
    known.clock.tick(STEP)
