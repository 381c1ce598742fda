"""Times Python's cyclic garbage collector."""

import gc
import time

from .recorder import GC


def install(session):
    """Register with `gc.callbacks`. A collection never opens the event file: most forked children have nothing else to say."""
    recorder, now = session.recorder, time.monotonic_ns
    started = [0]

    def collected(phase, info):
        if phase == "start":
            started[0] = now()
        elif started[0] and recorder.is_open:
            recorder.record(GC, info["generation"], started[0], now(), info.get("collected", 0))

    gc.callbacks.append(collected)
