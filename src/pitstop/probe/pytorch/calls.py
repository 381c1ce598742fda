"""Calls that do not belong into every step: forced collections, the device's cache given back, waiting for the device, logging."""

import gc
from typing import Any

from .. import loggers
from ..call_log import CallLog
from ..recorder import SYNC


def install(hooked):
    """Watch them all, each under every name that it has."""
    session, torch = hooked.session, hooked.torch
    calls = CallLog(session)
    session.forked.append(calls.forget)
    session.ending.append(calls.write)
    calls.watch((gc, "collect"), function="gc.collect", own=hooked.own)
    memory: Any = torch.cuda.memory
    calls.watch((torch.cuda, "empty_cache"), (memory, "empty_cache"), function="torch.cuda.empty_cache", own=hooked.own)
    for name in ("cuda", "accelerator"):
        owner = getattr(torch, name, None)
        if hasattr(owner, "synchronize"):
            title = "torch.%s.synchronize" % name
            calls.watch((owner, "synchronize"), function=title, own=hooked.own, kind=SYNC, category="sync")
    loggers.install(session, calls, hooked.own)
