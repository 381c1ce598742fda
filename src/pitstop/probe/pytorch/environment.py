"""The process that uses torch: `EnvironmentSighting`, when torch is first used and again when its first steps have run."""

import multiprocessing
import os
import re
import resource
import sys
from functools import lru_cache
from glob import glob
from typing import Any

from ..processes import command_line
from ..ranks import identity
from . import backends

_AGAIN_AFTER_STEPS = 3
_FAULTS_OVER_STEPS = 5  # counted once the first steps have filled the caches
_MAX_SOURCE_BYTES = 4 << 20
# Libraries that take malloc's place when they are preloaded or linked, as their file names begin.
_ALLOCATOR = re.compile(
    r"/lib(jemalloc|tcmalloc|mimalloc|hoard|snmalloc|rpmalloc|tbbmalloc_proxy|scudo|lockless)[^/]*$", re.MULTILINE
)
_DEVICE_SETTINGS = re.compile(r"PYTORCH_(CUDA_|HIP_)?ALLOC_CONF")
# Where packages of distributions, of conda and by hand put shared libraries, and the names of those worth loading.
_LIBRARIES = ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib", os.path.join(sys.prefix, "lib"))
_LOADABLE = ("libjemalloc.so*", "libtcmalloc_minimal.so*", "libtcmalloc.so*")
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
        session.clock.after(_AGAIN_AFTER_STEPS, self._settled)
        if session.sampler is not None:
            session.sampler.start()

    def _settled(self):
        self._write()
        start = _page_faults()
        self._hooked.session.clock.after(
            _FAULTS_OVER_STEPS,
            lambda: self._write(page_faults_per_step=(_page_faults() - start) / _FAULTS_OVER_STEPS),
        )

    def _write(self, **more):
        self._hooked.session.sightings.write("environment", **describe(self._hooked.torch), **more)


def describe(torch):
    """Return the fields of an `EnvironmentSighting`."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    script = os.path.abspath(script) if script else None
    cuda = torch.cuda.is_initialized()
    devices = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())] if cuda else []
    backend: Any = getattr(torch.backends, "cpu", None)
    rank, ranks, collectives = identity()
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
        "rank": rank,
        "ranks": ranks,
        "collectives": collectives,
        "affinity_cpus": len(os.sched_getaffinity(0)),
        "cpu_capability": backend.get_cpu_capability() if hasattr(backend, "get_cpu_capability") else None,
        "start_method": multiprocessing.get_start_method(allow_none=True),
        "anomaly_detection": torch.is_anomaly_enabled(),
        "tracer": _tracer(),
        "allocator": _allocator(),
        "huge_pages": _huge_pages(),
        **backends.describe(torch),
        "device_capabilities": _capabilities(torch) if cuda else [],
        "device_allocator_settings": sorted(name for name in os.environ if _DEVICE_SETTINGS.fullmatch(name)),
        "loadable_allocators": _loadable_allocators(),
        "preloads": bool(os.environ.get("LD_PRELOAD")),
        "allocator_settings": sorted(name for name in os.environ if _tunes_malloc(name)),
    }


def _capabilities(torch):
    return [list(torch.cuda.get_device_capability(index)) for index in range(torch.cuda.device_count())]


@lru_cache(maxsize=1)
def _loadable_allocators():
    """Return one path for each library that could be preloaded, the shortest name first: that one is a link to the newest."""
    found = []
    for name in _LOADABLE:
        paths = [path for folder in _LIBRARIES for path in glob(os.path.join(folder, name))]
        found += sorted(paths, key=lambda path: (len(os.path.basename(path)), path))[:1]
    return found


def _tracer():
    """Return the module and name of what is called for every line or call of this thread; None without one."""
    function: Any = sys.gettrace() or sys.getprofile()
    if function is None:
        return None
    kind = function if hasattr(function, "__qualname__") else type(function)
    return "%s.%s" % (getattr(kind, "__module__", None) or "?", kind.__qualname__)


def _page_faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def _tunes_malloc(name):
    return name.startswith("MALLOC_") or (name == "GLIBC_TUNABLES" and "malloc." in os.environ[name])


def _allocator():
    """Return what serves malloc in this process, None where that cannot be told (no glibc, no /proc)."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            found = _ALLOCATOR.search(file.read())
        return found.group(1) if found else os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):
        return None


def _huge_pages():
    """Return the choice that the kernel's list "always [madvise] never" marks."""
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as file:
            found = re.search(r"\[(\w+)\]", file.read())
    except (OSError, ValueError):
        return None
    return found.group(1) if found else None


def _has_main_guard(script):
    if script is None or not os.path.isfile(script):
        return False
    with open(script, "rb") as file:
        return _GUARD.search(file.read(_MAX_SOURCE_BYTES).decode(errors="replace")) is not None
