"""Times `torch.save`."""

import functools
import time

from ..recorder import CHECKPOINT


def install(hooked):
    """Patch the function under both of its names, so that pickling it by name still works."""
    torch, serialization = hooked.torch, hooked.torch.serialization
    original = serialization.save
    record, now = hooked.record, time.monotonic_ns

    @functools.wraps(original)
    def save(*args, **kwargs):
        start_ns = now()
        result = original(*args, **kwargs)
        record(CHECKPOINT, 0, start_ns, now())
        return result

    torch.save = serialization.save = hooked.own(save, "checkpoint")
