"""The result of a tune on the terminal: the speed-up of the patched program first, then everything behind it."""

import re
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from pitstop.messages import say
from pitstop.records.results import TuneResult
from pitstop.report.content import TunePage, tune_page
from pitstop.report.content.diff import diff_lines
from pitstop.report.content.gates import GateRow
from pitstop.report.content.handover import Handover
from pitstop.report.content.verdicts import VerdictRow
from pitstop.report.numbers import NO_NUMBER
from pitstop.report.terminal.profile import facts_table, missing_table
from pitstop.report.terminal.screen import draw, grid, heading, indented

_VERDICT_STYLE = {
    "faster": "bold green",
    "equivalent": "blue",
    "slower": "yellow",
    "undecided": "bright_black",
    "unsafe": "bold red",
    "invalid": "bright_black",
}
_OUTCOME = {"passed": ("✓", "green"), "failed": ("✗", "bold red"), "not-made": ("–", "bright_black")}
_DIFF_STYLE = {"add": "green", "del": "red", "hunk": "cyan", "file": "bold", "same": ""}
LONGEST_DIFF_LINES = 80  # a longer patch is a file to open, not a screen to scroll


def tune_screen(result: TuneResult, *, width: int = 100, color: bool = False) -> str:
    """Return the report of `pitstop tune`."""
    page = tune_page(result)
    return draw(_parts(page, gain=_has_gain(result), width=width), width=width, color=color)


def _has_gain(result: TuneResult) -> bool:
    patched = result.prescription.patched
    return bool(result.prescription.treatments) and patched is not None and patched.ci[0] > 1


def _parts(page: TunePage, *, gain: bool, width: int) -> Iterator[RenderableType]:
    yield Text(page.headline, style="bold green" if gain else "bold")
    for caveat in page.caveats:
        yield Text(caveat)
    yield Text(f"{page.program}\n{say('report.title.before')}: {page.baseline.headline}", style="dim")
    if page.handover:
        yield heading(say("report.title.changes"))
        yield _changes(page.handover)
    if page.gates:
        yield heading(say("report.title.gates"))
        yield _gates(page.gates)
    if page.confirm:
        yield heading(say("report.confirm.title"))
        yield facts_table(page.confirm)
    if page.verdicts:
        yield heading(say("report.title.verdicts"))
        yield _verdicts(page.verdicts, narrow=width < 72)
    if page.cannot:
        yield heading(say("report.title.cannot"))
        yield _pairs(page.cannot)
    if page.missing:
        yield heading(say("report.title.missing"))
        yield missing_table(page.missing)
    yield heading(say("report.title.account"))
    yield facts_table(page.account)
    if page.handover:
        yield heading(say("report.title.patch"))
        yield _patch(page.handover, width=width)


def _changes(handed: Handover) -> RenderableType:
    table = grid(columns=2, flexible=1)
    for row in handed.changes:
        words = Text(row.words)
        words.append(f"{' ' if row.words else ''}({row.numerics})", style="dim")
        table.add_row(row.name, words)
    return indented(table)


def _gates(rows: tuple[GateRow, ...]) -> RenderableType:
    table = grid(columns=3, flexible=2)
    for row in rows:
        sign, style = _OUTCOME[row.outcome]
        words = Text(row.name)
        for note in _gate_notes(row):
            words.append(f"\n{note}", style="dim")
        table.add_row(Text(sign, style=style), Text(row.outcome_label, style=style), words)
    return indented(table)


def _gate_notes(row: GateRow) -> Iterator[str]:
    found = [(say("report.column.measured"), row.measured), (say("report.column.limit"), row.limit)]
    values = [f"{name.lower()} {value}" for name, value in found if value != NO_NUMBER]
    first = " · ".join([*values, *([row.detail] if row.detail else [])])
    if first:
        yield first
    if row.power:
        yield f"{say('report.column.power')}: {row.power}"


def _verdicts(rows: tuple[VerdictRow, ...], *, narrow: bool) -> RenderableType:
    table = grid(columns=2 if narrow else 3, flexible=1)
    for row in rows:
        kind = Text(row.kind_label, style=_VERDICT_STYLE.get(row.kind, ""))
        change = Text(row.change)
        notes = " · ".join(note for note in (row.reason, row.memory) if note)
        if notes:
            change.append(f"\n{notes}", style="dim")
        speed = Text(row.speedup_text, style="" if row.claimed else "dim")
        speed.append(f"{' ' if narrow else chr(10)}{row.how}", style="dim")
        if narrow:
            table.add_row(kind, Text("\n").join((change, speed)))
        else:
            table.add_row(kind, change, speed)
    return indented(table)


def _pairs(rows: tuple[tuple[str, str], ...]) -> RenderableType:
    table = grid(columns=2, flexible=1)
    for name, reason in rows:
        table.add_row(name, Text(reason, style="dim"))
    return indented(table)


def _patch(handed: Handover, *, width: int) -> RenderableType:
    parts: list[RenderableType] = []
    if handed.diff:
        lines = diff_lines(handed.diff)
        text = Text(overflow="fold", tab_size=4)
        for line in lines[:LONGEST_DIFF_LINES]:
            text.append(f"{line.text}\n", style=_DIFF_STYLE[line.kind])
        parts.append(indented(text))
        if len(lines) > LONGEST_DIFF_LINES:
            hidden = len(lines) - LONGEST_DIFF_LINES
            parts.append(indented(Text(say("report.handover.more_lines", lines=hidden, patch=handed.patch))))
    else:
        parts.append(indented(Text(say("report.handover.no_diff"))))
    commands = [("report.handover.apply", handed.apply), ("report.handover.undo", handed.undo)]
    commands.append(("report.handover.launch", handed.launch))
    for key, command in commands:
        if command:
            parts.append(indented(Text(f"{say(key)}:", style="dim")))
            lines_of_command = continued(command, width=width - 4)
            parts.append(indented(indented(Text(lines_of_command, style="bold", overflow="fold"))))
    if not handed.launch:
        parts.append(indented(Text(say("report.handover.launch_same"), style="dim")))
    parts.append(indented(Text(handed.break_even)))
    return Group(*parts)


def continued(command: str, *, width: int) -> str:
    """Break a shell command at blanks outside of quotes, each line but the last ending in a backslash, so that it can be pasted.

    A word longer than `width` stays whole.
    """
    words = re.findall(r"(?:[^\s'\"\\]|\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\")+", command)
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) + 2 <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word if not lines else f"  {word}")
    return " \\\n".join(lines)
