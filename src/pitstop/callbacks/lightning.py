"""`Trainer(..., callbacks=[PitstopCallback()])` of Lightning: the run is profiled, nothing of it changes."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pitstop.api.here import Profiling
from pitstop.records.results import ProfileResult

if TYPE_CHECKING:
    Callback: Any = object
else:
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback

__all__ = ["PitstopCallback"]


class PitstopCallback(Callback):  # type: ignore[misc]  # no types where it is checked
    """Profiles from its own making to the end of `fit`, in the process of rank 0.

    Make it before model and loaders. `result` is there after `trainer.fit(...)`; report and JSON are in `folder`. Under
    `pitstop profile` it does nothing.
    """

    def __init__(self, *, run_root: str | Path | None = None, screen: bool = True) -> None:
        self._profiling = Profiling(run_root=run_root, screen=screen)
        if os.environ.get("LOCAL_RANK", os.environ.get("RANK", "0")) == "0":
            self._profiling.begin()

    @property
    def result(self) -> ProfileResult | None:
        """The profile, once training has ended."""
        return self._profiling.result

    @property
    def folder(self) -> Path | None:
        """The run folder."""
        return self._profiling.folder

    def on_fit_end(self, _trainer: Any, _module: Any) -> None:
        """Show what was seen."""
        self._profiling.end()

    def on_exception(self, _trainer: Any, _module: Any, _exception: BaseException) -> None:
        """Show what was seen until a training failed or was interrupted."""
        self._profiling.end()
