"""`Trainer(..., callbacks=[PitstopCallback()])`: the run is profiled, nothing of it changes."""

import os
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

import pitstop
from pitstop.api.here import Profiling
from pitstop.records.results import ProfileResult

__all__ = ["PitstopCallback"]


class PitstopCallback(TrainerCallback):  # type: ignore[misc]  # transformers has no types
    """Profiles from its own making to the end of training, in the process of rank 0.

    Make it before the Trainer. `result` is there after `trainer.train()`; report and JSON are in `folder`. Under
    `pitstop profile` it only says where steps end.
    """

    def __init__(self, *, run_root: str | Path | None = None, screen: bool = True) -> None:
        self._profiling = Profiling(run_root=run_root, screen=screen)
        if os.environ.get("RANK", "0") == "0":
            self._profiling.begin()

    @property
    def result(self) -> ProfileResult | None:
        """The profile, once training has ended."""
        return self._profiling.result

    @property
    def folder(self) -> Path | None:
        """The run folder."""
        return self._profiling.folder

    def on_step_end(self, _args: Any, _state: Any, _control: Any, **_kwargs: Any) -> None:
        """Say that a step has ended."""
        pitstop.step()

    def on_train_end(self, _args: Any, _state: Any, _control: Any, **_kwargs: Any) -> None:
        """Show what was seen."""
        self._profiling.end()
