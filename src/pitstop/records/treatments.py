"""What a treatment proposes and what it changes, as values."""

from enum import StrEnum

import msgspec

__all__ = ["CannotApply", "Change", "Numerics", "Proposal"]


class Numerics(StrEnum):
    """How results may differ under a change, decided per program (DESIGN.md, Treatment)."""

    EXACT = "exact"
    SAME_MATH = "same-math"
    SAME_DISTRIBUTION = "same-distribution"
    PRECISION = "precision"
    TRAINING = "training"


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """One setting of one treatment that could be tried: `name` is unique within a tune, e.g. "loader-workers=2"."""

    name: str
    treatment: str  # the treatment's registered name
    setting: dict[str, int | str | bool]
    numerics: Numerics
    ceiling: float  # the most that it could gain (Amdahl on the ledger), as baseline / treated time; inf if unknown
    group: str  # proposals of one group exclude each other (two worker counts)
    compiles: bool = (
        False  # its first run is slow to start, and one without compiled graphs shows that it could not act
    )
    acts_on: str = (
        ""  # "input": on nothing but how training batches are made; "training": on nothing before the batch is there
    )


class CannotApply(msgspec.Struct, frozen=True, kw_only=True):
    """Why a treatment has nothing to propose here; `reason` is in the chosen language."""

    treatment: str
    reason: str


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What is written into the sandbox, and handed over afterwards, for one or several proposals together.

    `laid` and `removed` make another version of the project of it: they are written before `files`, and are never handed over.
    """

    files: dict[str, str] = {}  # absolute path -> whole new text
    laid: dict[str, str] = {}  # absolute path -> the file or link to be copied there, with its mode
    removed: tuple[str, ...] = ()  # absolute paths that are not there
    env: dict[str, str] = {}  # the launch line gains NAME=value
    arguments: tuple[str, ...] = ()  # the launch line gains these at its end
    replaced_arguments: dict[str, str] = {}  # option already on the launch line -> its new value

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path of the project that it concerns."""
        return (*self.removed, *self.laid, *self.files)
