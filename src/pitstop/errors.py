"""The few errors that pitstop raises on purpose; the CLI catches only these.

An error carries a key of the message catalogue and its values, so that the CLI can say it in the
user's language. Bugs are `assert` or ordinary exceptions and reach the user as a traceback.
"""

import contextlib
import errno
from collections.abc import Iterator
from typing import Any, ClassVar

__all__ = ["CheckFailed", "CouldNotMeasure", "PitstopError", "ProgramFailed", "WrongUse", "full_disks_said"]


class PitstopError(Exception):
    """Base of all errors that are the user's to read: `key` in the catalogue, `values` to fill it."""

    exit_code: ClassVar[int] = 4

    def __init__(self, key: str, /, *, program_output: str = "", **values: Any) -> None:
        super().__init__(key, values)
        self.key = key
        self.values = values
        self.program_output = (
            program_output  # the end of the user's program's own error output, shown before the message
        )

    def __str__(self) -> str:
        """Untranslated, for logs and test failures; the CLI renders through the catalogue."""
        shown = ", ".join(f"{name}={value!r}" for name, value in self.values.items())
        return f"{self.key}({shown})"


class CheckFailed(PitstopError):
    """A check that the user asked for (gate, lock, launch-check) did not hold."""

    exit_code = 1


class WrongUse(PitstopError):
    """The command line or a file given on it cannot be right."""

    exit_code = 2


class ProgramFailed(PitstopError):
    """The user's program failed by itself, before anything was changed in it."""

    exit_code = 3


class CouldNotMeasure(PitstopError):
    """The program ran, yet what was asked for could not be measured; the message says why."""

    exit_code = 4


_FULL_OR_READ_ONLY = (errno.ENOSPC, errno.EROFS, errno.EDQUOT)


@contextlib.contextmanager
def full_disks_said(otherwise: str = "?") -> Iterator[None]:
    """Turn the error of a full or read-only disk into WrongUse; `otherwise`: the place to name where the error names none."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL_OR_READ_ONLY:
            raise
        raise WrongUse("cli.cannot_write", path=error.filename or otherwise, why=error.strerror) from error
