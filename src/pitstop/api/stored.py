"""Reading a stored run's result back."""

from pathlib import Path

from pitstop.errors import WrongUse
from pitstop.records.results import FitResult, GateResult, ProfileResult, TuneResult
from pitstop.report.json import from_json
from pitstop.store import find_run

__all__ = ["stored_result"]


def stored_result(root: Path, *, wanted: str | None = None) -> ProfileResult | TuneResult | FitResult | GateResult:
    """Return the result of run `wanted`, or of the newest below `root`. Raises WrongUse where there is none that can be read."""
    folder = find_run(root, wanted=wanted, containing="run.json")
    try:
        if (folder.path / "tune.json").is_file():
            return from_json((folder.path / "tune.json").read_bytes(), kind=TuneResult)
        if (folder.path / "fit.json").is_file():
            return from_json((folder.path / "fit.json").read_bytes(), kind=FitResult)
        if (folder.path / "gate.json").is_file():
            return from_json((folder.path / "gate.json").read_bytes(), kind=GateResult)
        if (folder.path / "profile.json").is_file():
            return from_json((folder.path / "profile.json").read_bytes(), kind=ProfileResult)
    except ValueError as error:
        raise WrongUse("cli.bad_result", path=str(folder.path), why=str(error)) from error
    key = "cli.unfinished_tune" if (folder.path / "journal.sqlite").is_file() else "cli.unfinished_run"
    raise WrongUse(key, run=str(folder.path))
