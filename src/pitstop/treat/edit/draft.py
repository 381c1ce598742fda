"""A draft: what several treatments want changed, collected on the original nodes and written once, in one canonical order.

Because nothing is rewritten before the end, every anchor found from a run's positions stays valid, and the order in which
treatments were asked does not show in the result.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pitstop.records import Change
from pitstop.treat.contract import CannotEdit

if TYPE_CHECKING:
    from pitstop.treat.edit.file import FileDraft

__all__ = ["Draft"]


class Draft:
    """Collects edits of files, of the environment and of the launch line; `finish` makes the `Change`."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        """Start with no edits of `sources` (absolute path -> text, as in `View.sources`)."""
        self._sources = sources
        self._files: dict[str, FileDraft] = {}
        self._environment: dict[str, str] = {}
        self._arguments: dict[str, str] = {}
        self._overrides: dict[str, str] = {}
        self._replaced: dict[str, str] = {}

    def file(self, path: str) -> "FileDraft":
        """Return the draft of one file; raises CannotEdit where it is not the user's to patch or not readable."""
        from pitstop.treat.edit.file import FileDraft  # noqa: PLC0415  libcst is imported when an edit is made

        if path not in self._files:
            if path not in self._sources:
                raise CannotEdit("not_a_source", path=path)
            self._files[path] = FileDraft(path, self._sources[path])
        return self._files[path]

    def set_environment(self, name: str, value: str) -> None:
        """Let the launch line gain `name=value`; raises CannotEdit where another treatment wants another value."""
        self._set(self._environment, name, value)

    def set_option(self, flag: str, value: str, *, present: bool, override: bool = False) -> None:
        """Give the program's own option `flag` a `value`; `present` where the launch line has it already.

        `override`: it is written `flag=value`, as one word.
        """
        added = self._overrides if override else self._arguments
        self._set(self._replaced if present else added, flag, value)

    def places(self) -> set[object]:
        """Return what this draft changes, without how: two drafts that meet in a place cannot be told apart there."""
        found: set[object] = {*self._environment, *self._arguments, *self._overrides, *self._replaced}
        return found.union(*(file.places() for file in self._files.values()))

    def finish(self) -> Change:
        """Return everything as values. Files whose text does not change are left out."""
        files = {path: self._files[path].text() for path in sorted(self._files)}
        return Change(
            files={path: text for path, text in files.items() if text != self._sources[path]},
            env=dict(sorted(self._environment.items())),
            arguments=(
                *(word for item in sorted(self._arguments.items()) for word in item),
                *(f"{key}={value}" for key, value in sorted(self._overrides.items())),
            ),
            replaced_arguments=dict(sorted(self._replaced.items())),
        )

    def _set(self, into: dict[str, str], name: str, value: str) -> None:
        if into.setdefault(name, value) != value:
            raise CannotEdit("conflict", what=name)
