"""The contract between treatments and everyone who uses them: what they see, what they say, what they refuse."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Evidence, Ledger, LoaderRoles, Program, Proposal, Steps

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["CannotEdit", "Treatment", "View"]


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that a treatment may look at.

    `sources` maps absolute paths to whole texts, decoded as UTF-8 with nothing translated (`newline=""`, BOM kept:
    see `decode_source`). `cpus` are those usable by the program, divided by its ranks. `roles` is None where no events were kept.
    """

    evidence: Evidence
    ledger: Ledger
    steps: Steps
    cpus: int
    sources: Mapping[str, str]
    program: Program
    roles: LoaderRoles | None = None


class CannotEdit(Exception):
    """A source cannot be edited safely for a treatment; `reason` is for the user, in the chosen language."""

    def __init__(self, key: str, /, **values: object) -> None:
        super().__init__(key, values)
        self.key = key
        self.values = values

    @property
    def reason(self) -> str:
        """Why, from the catalogue (`treat.<key>`)."""
        return say(f"treat.{self.key}", lang=None, **self.values)

    def __str__(self) -> str:
        return self.reason


class Treatment(Protocol):
    """One change that pitstop knows. `title` and `explanation` say what it does, why it is faster, what it may change."""

    name: str
    layer: str  # "data", "model", "compute", "communication", "memory" or "environment"
    title: Text
    explanation: Text

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """Return the settings worth a trial in this program, or why there are none. Does not look at sources for long."""
        ...

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:
        """Write `proposal` into `draft`; raises CannotEdit. All positions are those of the unedited sources."""
        ...
