"""What the user's program may say to the probe: `pitstop.step()` comes here through `pitstop.__init__` or `provided`."""

import time

from .recorder import STEP

_session = None


def connect(session):
    """Let `step` reach this process's session."""
    global _session
    _session = session


def step():
    """Take in that the program says: a step has ended. Never raises."""
    session = _session
    if session is None:
        return
    if not session.is_told_steps:
        session.told_first_step()
    now_ns = time.monotonic_ns()
    session.recorder.record(STEP, 0, now_ns, now_ns)
    session.clock.tick(STEP)
