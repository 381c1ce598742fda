"""Collective operations that the program calls itself, its waits for them, and those of DistributedDataParallel (`reductions`).

The host's time in the call is what counts: on a CPU that is the whole exchange, or the wait for one begun before. With NCCL the call only queues
the exchange, and what the device spends on it is not measured.
"""

import functools
import sys
import time
from _thread import get_ident
from typing import Any

from ..recorder import COMMUNICATION
from . import reductions

_OPERATIONS = """
    all_reduce all_reduce_coalesced all_gather all_gather_into_tensor all_gather_object all_gather_coalesced all_to_all all_to_all_single
    broadcast broadcast_object_list reduce reduce_scatter reduce_scatter_tensor gather gather_object scatter scatter_object_list
    barrier monitored_barrier send recv batch_isend_irecv
""".split()  # noqa: SIM905


def install(hooked):
    """Patch each operation under both of its names, and `Work.wait`."""
    reductions.install(hooked)
    module: Any = sys.modules.get("torch.distributed.distributed_c10d")
    package: Any = sys.modules.get("torch.distributed")
    if module is None or package is None or not package.is_available():
        return
    inside: set = set()  # threads: what a collective calls itself is part of it
    look = _make_look(hooked)
    for name in _OPERATIONS:
        original = getattr(module, name, None)
        if original is None:
            continue
        wrapper = _timed(hooked, original, inside, "torch.distributed." + name, look)
        hooked.switched.patch(module, name, wrapper)
        if getattr(package, name, None) is original:
            hooked.switched.patch(package, name, wrapper)
    work: Any = package.Work
    hooked.switched.patch(work, "wait", _timed(hooked, work.wait, inside, "torch.distributed.Work.wait", look))


def _timed(hooked, original, inside, function, look):
    now, record, is_compiling, looking = time.monotonic_ns, hooked.record, hooked.is_compiling, hooked.looking

    @functools.wraps(original)
    def collective(*args, **kwargs):
        ident = get_ident()
        if is_compiling() or ident in inside:
            return original(*args, **kwargs)
        if looking.open:
            look(function)
        inside.add(ident)
        start_ns = now()
        try:
            return original(*args, **kwargs)
        finally:
            inside.discard(ident)
            record(COMMUNICATION, 0, start_ns, now())

    return hooked.own(collective, "communication")


def _make_look(hooked):
    looking, session = hooked.looking, hooked.session
    seen = [0]

    def look(function):
        try:
            if looking.is_new(function):
                seen[0] += 1
                session.sightings.write("collective", id=seen[0], stack=looking.stack(), function=function)
        except Exception as error:
            session.fault(function, error)

    return hooked.own(look, deep=True)
