"""The run folder `.pitstop/runs/<time>-<name>/`: made, found again, and written atomically."""

import os
import re
import secrets
from datetime import datetime
from pathlib import Path

import msgspec

from pitstop.errors import WrongUse

__all__ = ["RunFolder", "find_run", "new_run_folder"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class RunFolder(msgspec.Struct, frozen=True, kw_only=True):
    """One run's folder. Files appear whole or not at all."""

    path: Path

    def write(self, name: str, data: bytes | str) -> Path:
        """Write `data` to `name` in the folder, atomically; returns its path."""
        target = self.path / name
        payload = data.encode() if isinstance(data, str) else data
        partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
        try:
            with partial.open("wb") as file:
                file.write(payload)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise WrongUse("cli.cannot_write", path=str(target), why=error.strerror or str(error)) from error
        return target


def new_run_folder(root: Path, *, name: str, now: datetime) -> RunFolder:
    """Make `<root>/.pitstop/runs/<now>-<name>` and return it; a second one in the same second gets a suffix.

    Raises WrongUse where nothing can be written below `root`.
    """
    base = root / ".pitstop"
    slug = _UNSAFE.sub("-", name).strip("-.")[:40] or "run"
    stamp = now.strftime("%Y%m%d-%H%M%S")
    try:
        (base / "runs").mkdir(parents=True, exist_ok=True)
        ignore = base / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        for attempt in range(1000):
            path = base / "runs" / (f"{stamp}-{slug}" + (f"-{attempt}" if attempt else ""))
            try:
                path.mkdir()
            except FileExistsError:
                continue
            return RunFolder(path=path)
    except OSError as error:
        raise WrongUse("cli.read_only_folder", path=str(base), why=error.strerror or str(error)) from error
    raise WrongUse("cli.read_only_folder", path=str(base), why="1000 runs in one second")


def find_run(root: Path, *, wanted: str | None = None, containing: str = "run.json") -> RunFolder:
    """Return the run folder named or pathed `wanted`, or the newest below `root` that has the file `containing`.

    Raises WrongUse where there is none.
    """
    if wanted is not None:
        for candidate in (Path(wanted), root / ".pitstop" / "runs" / wanted):
            if candidate.is_dir():
                return RunFolder(path=candidate.resolve())
            if candidate.is_file():
                return RunFolder(path=candidate.resolve().parent)
        raise WrongUse("cli.no_such_run", run=wanted)
    runs = root / ".pitstop" / "runs"
    found = (
        sorted((path for path in runs.glob("*") if (path / containing).is_file()), reverse=True)
        if runs.is_dir()
        else []
    )
    if not found:
        raise WrongUse("cli.no_runs", folder=str(runs))
    return RunFolder(path=found[0])
