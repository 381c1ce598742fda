"""What the user takes away: the patch, how to apply and undo it, the launch line, and when it has paid for itself."""

import shlex

import msgspec

from pitstop.messages import say
from pitstop.records.results import TuneResult
from pitstop.report import numbers
from pitstop.report.content.facts import command_line
from pitstop.report.content.labels import label
from pitstop.report.content.verdicts import change_name
from pitstop.report.plain import plain, plain_lines


class ChangeRow(msgspec.Struct, frozen=True, kw_only=True):
    """One change that is handed over, in plain words, with how results may differ under it."""

    name: str
    words: str
    numerics: str
    numerics_words: str


class Handover(msgspec.Struct, frozen=True, kw_only=True):
    """`diff` is "" without source edits, `launch` "" where the launch line stays as it is; `apply` and `undo` are shell lines."""

    changes: tuple[ChangeRow, ...]
    diff: str
    patch: str
    apply: str
    undo: str
    launch: str
    break_even: str


def handover(result: TuneResult) -> Handover | None:
    """Return what is handed over, or None where nothing helped."""
    prescription = result.prescription
    if not prescription.treatments:
        return None
    patch = prescription.patch
    quoted = "" if patch is None else plain(shlex.quote(patch))
    return Handover(
        changes=_changes(result),
        diff=plain_lines(prescription.diff).rstrip("\n"),
        patch="" if patch is None else plain(patch),
        apply=f"git apply {quoted}" if quoted else "",
        undo=f"git apply -R {quoted}" if quoted else "",
        launch=_launch(result),
        break_even=_break_even(prescription.break_even_steps),
    )


def _changes(result: TuneResult) -> tuple[ChangeRow, ...]:
    """Return a row per treatment; the same words (one treatment at two loaders) are said once."""
    said: dict[str, str] = {}
    rows = []
    for name in result.prescription.treatments:
        row = _change(result, name)
        first = said.setdefault(row.words, row.name)
        rows.append(
            row
            if first == row.name
            else msgspec.structs.replace(row, words=say("report.handover.as_above", name=first))
        )
    return tuple(rows)


def _change(result: TuneResult, name: str) -> ChangeRow:
    prescription = result.prescription
    numerics = next(
        (verdict.numerics for verdict in result.verdicts if verdict.treatments == (name,)), prescription.numerics
    )
    return ChangeRow(
        name=change_name((name,)),
        words=plain(prescription.explanations.get(name, "")),
        numerics=label("numerics", numerics),
        numerics_words=label("numerics-words", numerics),
    )


def _launch(result: TuneResult) -> str:
    prescription, old = result.prescription, result.baseline.program.command
    command = prescription.command or old
    if command == old and not prescription.env:
        return ""
    assignments = "".join(f"{name}={shlex.quote(value)} " for name, value in sorted(prescription.env.items()))
    return plain(assignments) + (" " if assignments else "") + command_line(command)


def _break_even(steps: int | None) -> str:
    if steps is None:
        return say("report.handover.break_even_unknown")
    if steps <= 0:
        return say("report.handover.break_even_at_once")
    return say("report.handover.break_even", steps=numbers.count(steps))
