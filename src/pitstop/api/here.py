"""Profiling the process that asks for it, and its report at the end: what the callbacks of training frameworks do."""

import sys
import time
from datetime import datetime
from pathlib import Path

import msgspec

from pitstop.api.analysis import analyse, profile_result
from pitstop.errors import PitstopError
from pitstop.measure.here import Here, is_watched
from pitstop.messages import choose_language, say
from pitstop.records.results import ProfileResult
from pitstop.report.html import profile_html
from pitstop.report.json import to_json
from pitstop.report.markdown import profile_markdown
from pitstop.report.plain import plain
from pitstop.report.terminal import profile_screen
from pitstop.store import RunFolder, new_run_folder

__all__ = ["Profiling"]

_SAMPLE_HZ = 50


class Profiling:
    """A profile of this process from `begin` to `end`. Nothing here raises: the training goes on whatever happens to it.

    Under `pitstop profile`, and the second time in one process, it does nothing. `result` is there after `end`.
    """

    def __init__(self, *, run_root: str | Path | None = None, name: str = "train", screen: bool = True) -> None:
        self.result: ProfileResult | None = None
        self.folder: Path | None = None
        self._root = Path(run_root) if run_root is not None else Path.cwd()
        self._name, self._screen = name, screen
        self._here: Here | None = None
        self._began_s = 0.0
        choose_language(None)

    def begin(self) -> None:
        """Start to watch, as early as the program can: what is made from here on is seen being made."""
        if self._here is not None or is_watched():
            return
        try:
            kept = new_run_folder(self._root, name=self._name, now=datetime.now().astimezone())
            self.folder, self._began_s = kept.path, time.monotonic()
            self._here = Here(folder=kept.path, project_root=Path.cwd(), sample_hz=_SAMPLE_HZ)
        except Exception as error:  # noqa: BLE001 - the training matters more
            self._complain(error)

    def end(self) -> None:
        """Stop watching, keep the result in the run folder and show it on standard error."""
        here, self._here = self._here, None
        if here is None or self.folder is None:
            return
        try:
            run = here.end()
            result = profile_result(analyse(run), run_folder=str(self.folder), wall_s=time.monotonic() - self._began_s)
            self.result = result
            if self._screen:
                sys.stderr.write(profile_screen(result, color=sys.stderr.isatty()))
            folder = RunFolder(path=self.folder)
            folder.write("run.json", msgspec.json.encode(run))
            folder.write("profile.json", to_json(result))
            folder.write("report.html", profile_html(result))
            folder.write("report.md", profile_markdown(result))
        except Exception as error:  # noqa: BLE001 - as above
            self._complain(error)

    def _complain(self, error: Exception) -> None:
        why = say(error.key, **error.values) if isinstance(error, PitstopError) else f"{type(error).__name__}: {error}"
        sys.stderr.write(f"pitstop: {say('here.failed', why=plain(why))}\n")
