"""Progress of `pitstop tune` on standard error: a live line on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live

from pitstop.api.tune import ProgressSink
from pitstop.report.progress import TuneProgress, progress_line
from pitstop.report.progress import progress as drawn
from pitstop.tune.search_progress import Progress

__all__ = ["tune_progress"]


@contextmanager
def tune_progress() -> Iterator[ProgressSink]:
    """Give a sink that draws progress until the block ends."""
    console = Console(stderr=True)
    began = time.monotonic()
    before_s: float | None = None  # what a tune that goes on had already taken
    live = (
        Live(console=console, auto_refresh=True, refresh_per_second=4, transient=True) if console.is_terminal else None
    )

    def show(line: str, progress: Progress | None) -> None:
        nonlocal before_s
        elapsed_s = time.monotonic() - began
        if progress is not None and before_s is None:
            before_s = max(0.0, progress.spent_ns / 1e9 - elapsed_s)
        state = TuneProgress(
            phase=line,
            done=progress.done if progress else 0,
            expected=progress.expected if progress else 0,
            eta_s=progress.eta_ns / 1e9 if progress and progress.eta_ns is not None else None,
            elapsed_s=elapsed_s + (before_s or 0.0),
        )
        if live is not None:
            live.update(drawn(state))
        else:
            sys.stderr.write(progress_line(state) + "\n")
            sys.stderr.flush()

    if live is None:
        yield show
        return
    with live:
        yield show
