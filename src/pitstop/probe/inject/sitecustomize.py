"""The door into the user's interpreter, found through PYTHONPATH: start the probe, then behave as if this file were not there.

The environment keeps PYTHONPATH for children; this process loses every trace of it: the path entry goes, the user's own
sitecustomize (the next one on the path) runs as it would have, and where there is none, its import fails as it would have.
"""

import sys


def _leave_path(here):
    kept = [entry for entry in sys.path if entry != here]
    sys.path[:] = kept
    sys.path_importer_cache.pop(here, None)


def _start_probe(here):
    import os

    folder = os.environ.get("PITSTOP_PROBE_DIR")
    if not folder or not os.path.isdir(folder):
        return
    probe = os.path.dirname(here)
    package = type(sys)("_pitstop_probe")
    package.__path__ = [probe]
    package.__spec__ = spec = type(__spec__)("_pitstop_probe", None)
    spec.submodule_search_locations = [probe]
    sys.modules["_pitstop_probe"] = package
    from _pitstop_probe.start import start  # type: ignore[import-not-found]

    start(folder)


def _run_users():
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        # site.py takes this for "there is none", which is the truth.
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    module = type(sys)("sitecustomize")
    module.__spec__ = spec
    module.__loader__ = spec.loader
    module.__file__ = spec.origin
    module.__dict__["__cached__"] = spec.cached
    module.__package__ = ""
    if spec.submodule_search_locations is not None:
        module.__path__ = spec.submodule_search_locations
        module.__package__ = "sitecustomize"
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_here = __file__.rpartition("/")[0]
_leave_path(_here)
try:
    _start_probe(_here)
except Exception:
    # Nothing can be reported before the probe is there; the parent sees "not connected".
    sys.modules.pop("_pitstop_probe", None)
_run_users()
