"""Where a command's result goes: the screen on standard error, JSON to a file or standard output, the page to a file."""

import contextlib
import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from pitstop.errors import PitstopError, WrongUse, full_disks_said
from pitstop.messages import say
from pitstop.records.results import SCHEMA, ErrorResult
from pitstop.report.json import to_json
from pitstop.report.markdown_text import prose
from pitstop.report.plain import plain

__all__ = [
    "append_file",
    "check_writable",
    "errors_as_json",
    "errors_as_markdown",
    "show_result",
    "write_file",
    "write_result",
]

_R = TypeVar("_R", bound=msgspec.Struct)
_R_contra = TypeVar("_R_contra", bound=msgspec.Struct, contravariant=True)


class _Screen(Protocol[_R_contra]):
    def __call__(self, result: _R_contra, *, width: int, color: bool) -> str: ...


def write_result(
    result: _R, *, json: str | None, html: Path | None, page: Callable[[_R], str], screen: _Screen[_R]
) -> None:
    """Show `result` on standard error and write it where the options say."""
    show_result(result, json=None, screen=screen)
    if html is not None:
        write_file(html, page(result).encode())
    _write_json(result, json)


def show_result(result: _R, *, json: str | None, screen: _Screen[_R]) -> None:
    """Show `result` on standard error, and as JSON where that is wanted."""
    width = min(shutil.get_terminal_size((100, 24)).columns, 140)
    sys.stderr.write(screen(result, width=width, color=sys.stderr.isatty()))
    _write_json(result, json)


@contextlib.contextmanager
def errors_as_json(json: str | None, *, run_root: Path | None) -> Iterator[None]:
    """Write the error that ends a command where its result would have gone, for whoever reads only that; then let it pass."""
    try:
        with full_disks_said(os.fspath(run_root or Path.cwd())):
            yield
    except PitstopError as error:
        message = plain(say(error.key, **error.values))
        _write_json(ErrorResult(schema=SCHEMA, error=error.key, message=message, exit_code=error.exit_code), json)
        raise


@contextlib.contextmanager
def errors_as_markdown(path: Path | None) -> Iterator[None]:
    """Append the error that ends a command to the file that its report would have gone to; then let it pass."""
    try:
        yield
    except PitstopError as error:
        if path is not None:
            append_file(path, f"## pitstop\n\n**{prose(plain(say(error.key, **error.values)))}**\n".encode())
        raise


def _write_json(result: msgspec.Struct, json: str | None) -> None:
    if json == "-":
        sys.stdout.buffer.write(to_json(result))
        sys.stdout.buffer.flush()
    elif json is not None:
        write_file(Path(json), to_json(result))


def write_file(path: Path, data: bytes) -> None:
    """Write a file that the user named. Raises WrongUse where that is not possible."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise WrongUse("cli.cannot_write", path=str(path), why=error.strerror or str(error)) from error


def append_file(path: Path, data: bytes) -> None:
    """Write at the end of a file that the user named: the summary of a CI job is one file for all steps. Raises WrongUse."""
    try:
        with path.open("ab") as file:
            file.write(data)
    except OSError as error:
        raise WrongUse("cli.cannot_write", path=str(path), why=error.strerror or str(error)) from error


def check_writable(*targets: str | Path | None) -> None:
    """Raise WrongUse for a file whose folder does not exist or that is a folder itself, before minutes are spent on what it is to hold."""
    for target in targets:
        if target is None or str(target) == "-":
            continue
        if not Path(target).resolve().parent.is_dir():
            raise WrongUse("cli.cannot_write", path=str(target), why=os.strerror(errno.ENOENT))
        if Path(target).is_dir():
            raise WrongUse("cli.cannot_write", path=str(target), why=os.strerror(errno.EISDIR))
