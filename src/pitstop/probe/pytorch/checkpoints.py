"""Times `torch.save`, and safetensors' writing of files, which libraries use in its place."""

import functools
import time

from ..recorder import CHECKPOINT


def install(hooked):
    """Patch the functions under all of their names, so that pickling them by name still works."""
    torch, serialization = hooked.torch, hooked.torch.serialization
    torch.save = serialization.save = _timed(hooked, serialization.save)
    hooked.session.watch.when("safetensors.torch", lambda module: _watch_safetensors(hooked, module))


def _watch_safetensors(hooked, module):
    module.save_file = _timed(hooked, module.save_file)


def _timed(hooked, original):
    record, now = hooked.record, time.monotonic_ns

    @functools.wraps(original)
    def save(*args, **kwargs):
        start_ns = now()
        result = original(*args, **kwargs)
        record(CHECKPOINT, 0, start_ns, now())
        return result

    return hooked.own(save, "checkpoint")
