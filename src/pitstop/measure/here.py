"""Watching the process that pitstop itself runs in, for programs that ask for it (callbacks of training frameworks).

The probe is the same as in `pitstop profile`, under the same name, `_pitstop_probe`; it only comes later: what was made before (loaders,
optimizers) it gets to know when it is used. It stays for good, and is silent once the run is over: once per process.
"""

import atexit
import importlib
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pitstop
from pitstop.measure.execution import Ending, Execution
from pitstop.measure.probe_folder import ProbeConfig, prepare_probe
from pitstop.measure.watch import Watch
from pitstop.records import Change, Program, Run

__all__ = ["Here", "is_watched"]

_PROBE = "_pitstop_probe"


def is_watched() -> bool:
    """Tell whether a probe is in this process already: `pitstop profile` started it, or it was asked for before."""
    return _PROBE in sys.modules


class Here:
    """One run of this process, from now until `end`."""

    def __init__(self, *, folder: Path, project_root: Path, sample_hz: int) -> None:
        probe = ProbeConfig(mode="profile", sample_hz=sample_hz, project_root=str(project_root))
        program = Program(argv=tuple(getattr(sys, "orig_argv", sys.argv)), cwd=str(Path.cwd()))
        self._execution = Execution(
            program=program,
            folder=folder,
            project_root=project_root,
            probe=probe,
            change=Change(),
            timeout_s=None,
            memory_limit_bytes=None,
            output="inherit",
            on_tick=lambda: None,
        )
        place = folder / "probe"
        place.mkdir()
        prepare_probe(place, probe, {})
        self._started_ns = time.monotonic_ns()
        self._watch = Watch(os.getpid(), closely=True)
        self._watch.__enter__()
        self._session = _start(place)

    def end(self) -> Run:
        """End the recording and return what was observed of this process and its children."""
        atexit.unregister(self._session.on_exit)
        self._session.on_exit()
        self._watch.__exit__(None, None, None)
        ending = Ending(
            exit_code=0,
            started_ns=self._started_ns,
            ended_ns=time.monotonic_ns(),
            exceeded=None,
            cpu_ns=None,
            peak_bytes=0,
        )
        return self._execution.observed(ending, watch=self._watch, project=self._execution.project_root)


def _start(folder: Path) -> Any:
    """Bring the probe into this process, as `pitstop.probe.inject` does at an interpreter's start; returns its session."""
    package = ModuleType(_PROBE)
    package.__path__ = [str(Path(pitstop.__file__).resolve().parent / "probe")]
    sys.modules[_PROBE] = package
    importlib.import_module(f"{_PROBE}.start").start(str(folder))
    return importlib.import_module(f"{_PROBE}.api").session()
