"""The process that uses torch: `EnvironmentSighting`, when torch is first used and again when its first steps have run."""

import multiprocessing
import os
import re
import sys
from typing import Any

from ..processes import command_line

_AGAIN_AFTER_STEPS = 3
_MAX_SOURCE_BYTES = 4 << 20
_GUARD = re.compile(
    r"^if\s*\(?\s*(__name__\s*==\s*['\"]__main__['\"]|['\"]__main__['\"]\s*==\s*__name__)\s*\)?\s*:", re.MULTILINE
)


class Environment:
    """Says once per process what it is. Asks torch nothing before the program has used it: asking may initialize a device."""

    def __init__(self, hooked):
        self._hooked = hooked
        self._used = False

    def forget(self):
        """In a forked child: it is another process."""
        self._used = False

    def used(self):
        """Take in that the program uses torch now."""
        session = self._hooked.session
        if self._used or session.is_worker:
            return
        self._used = True
        self._write()
        session.clock.after(_AGAIN_AFTER_STEPS, self._write)
        if session.sampler is not None:
            session.sampler.start()

    def _write(self):
        self._hooked.session.sightings.write("environment", **describe(self._hooked.torch))


def describe(torch):
    """Return the fields of an `EnvironmentSighting`."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    script = os.path.abspath(script) if script else None
    cuda = torch.cuda.is_initialized()
    devices = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())] if cuda else []
    backend: Any = getattr(torch.backends, "cpu", None)
    return {
        "pid": os.getpid(),
        "python": "%d.%d.%d" % sys.version_info[:3],
        "executable": sys.executable,
        "argv": command_line(),
        "script": script,
        "main_guard": _has_main_guard(script),
        "torch": str(torch.__version__),
        "cuda": cuda,
        "device_names": devices,
        "intra_op_threads": torch.get_num_threads(),
        "inter_op_threads": torch.get_num_interop_threads(),
        "affinity_cpus": len(os.sched_getaffinity(0)),
        "cpu_capability": backend.get_cpu_capability() if hasattr(backend, "get_cpu_capability") else None,
        "start_method": multiprocessing.get_start_method(allow_none=True),
    }


def _has_main_guard(script):
    if script is None or not os.path.isfile(script):
        return False
    with open(script, "rb") as file:
        return _GUARD.search(file.read(_MAX_SOURCE_BYTES).decode(errors="replace")) is not None
