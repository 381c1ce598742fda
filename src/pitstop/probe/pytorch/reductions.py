"""What DistributedDataParallel does at the end of a backward: it waits until the gradients of all ranks are summed.

Its own log knows when the gradients were computed and when they were summed; no synchronization is added. It keeps these times for every
hundredth iteration; on a CPU they are asked for in each, where they are clock readings. On a GPU they are events, and reading them would make the
host wait, so there the wait is not measured.
"""

import functools
import sys
import weakref
from typing import Any

from ..recorder import COMMUNICATION, REDUCTION
from ..sites import stack, user_frame
from .loaders import qualified

_MAX_DESCRIBED = 8
_LEAST_NS = 1_000_000  # between two readings of the log, which cost 10 us each
_SAY_AFTER_STEPS = 20


class _Wrapped:
    """One DistributedDataParallel: its fields as a sighting, and what was counted."""

    def __init__(self, number, model, fields):
        self.number = number
        self.model = model  # weak
        self.fields = fields
        self.backwards = self.reduced = 0
        self.waiting: Any = None  # (start, end) of the last backward that reduced, until the log tells of it
        self.read_ns = 0


class Reductions:
    """`seen`: the models wrapped so far, not kept alive. `after` is called at the end of every watched backward."""

    def __init__(self, hooked):
        self._hooked = hooked
        self.seen = []

    def made(self, model, frame):
        """Take in a new one."""
        hooked = self._hooked
        if len(self.seen) >= _MAX_DESCRIBED:
            return
        users = user_frame(frame)
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        fields = {
            "stack": stack(users) if users is not None else [],
            "module_class": qualified(type(model.module)),
            "device": parameters[0].device.type if parameters else "cpu",
            "find_unused_parameters": bool(model.find_unused_parameters),
            "static_graph": bool(getattr(model, "static_graph", False)),
            "gradient_as_bucket_view": bool(model.gradient_as_bucket_view),
            "bucket_cap_bytes": int(getattr(model, "bucket_bytes_cap", 0)),
            "parameter_bytes": sum(parameter.numel() * parameter.element_size() for parameter in parameters),
        }
        wrapped = _Wrapped(len(self.seen) + 1, weakref.ref(model), fields)
        if fields["device"] == "cpu":
            model._set_ddp_runtime_logging_sample_rate(1)
        self.seen.append(wrapped)
        self._write(wrapped)
        hooked.clock.after(_SAY_AFTER_STEPS, lambda: self._write(wrapped))

    def after(self, start_ns, end_ns):
        """Take in a backward; the log tells of the one before it. Never raises."""
        try:
            for wrapped in self.seen:
                self._after(wrapped, start_ns, end_ns)
        except Exception as error:
            self.seen = []
            self._hooked.session.fault("DistributedDataParallel", error)

    def _after(self, wrapped, start_ns, end_ns):
        model = wrapped.model()
        if model is None:
            return
        wrapped.backwards += 1
        if not model.require_backward_grad_sync:
            return
        wrapped.reduced += 1
        if wrapped.fields["device"] != "cpu":
            return
        if wrapped.waiting is not None and end_ns - wrapped.read_ns >= _LEAST_NS:
            wrapped.read_ns = end_ns
            self._read(wrapped, model.logger._get_ddp_logging_data().ints_map)
        wrapped.waiting = start_ns, end_ns

    def _read(self, wrapped, log):
        start_ns, end_ns = wrapped.waiting
        exposed_ns = log.get("backward_comm_time", 0) - log.get("backward_compute_comm_overlap_time", 0)
        if 0 < exposed_ns <= end_ns - start_ns:
            begin_ns = end_ns - exposed_ns
            self._hooked.record(
                COMMUNICATION, wrapped.number, begin_ns, end_ns, wrapped.fields["parameter_bytes"], REDUCTION
            )
        fields = wrapped.fields
        fields["buckets"] = log.get("num_buckets_reduced")
        if fields["find_unused_parameters"] and "unused_parameter_size" in log:
            fields["unused_bytes"] = max(fields.get("unused_bytes") or 0, log["unused_parameter_size"])

    def write(self):
        """Say what is known of each; the last word counts."""
        for wrapped in self.seen:
            self._write(wrapped)

    def _write(self, wrapped):
        self._hooked.session.sightings.write(
            "data_parallel",
            id=wrapped.number,
            backwards=wrapped.backwards,
            reduced=wrapped.reduced,
            **wrapped.fields,
        )

    def forget(self):
        """In a forked child: the parent's models are not trained here."""
        self.seen = []


def install(hooked):
    """Watch construction."""
    module: Any = sys.modules.get("torch.nn.parallel.distributed")
    if module is None or not hooked.torch.distributed.is_available():
        return
    original = module.DistributedDataParallel.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):  # noqa: N807 - takes the place of the real one
        original(self, *args, **kwargs)
        try:
            hooked.reductions.made(self, sys._getframe(1))
        except Exception as error:
            hooked.session.fault("DistributedDataParallel()", error)

    module.DistributedDataParallel.__init__ = hooked.own(__init__)
    hooked.session.ending.append(hooked.reductions.write)
    hooked.session.forked.append(hooked.reductions.forget)
