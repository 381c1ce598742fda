"""The profile as one terminal screen."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from pitstop.messages import say
from pitstop.records.results import ProfileResult
from pitstop.report.content import ProfilePage, profile_page
from pitstop.report.content.facts import Fact
from pitstop.report.content.findings import FindingRow, HotRow, MissingRow
from pitstop.report.content.ledger import LedgerRow
from pitstop.report.terminal.screen import bar, draw, grid, heading, indented

_LEAST_HOT = 0.05  # one screen has no room for the others, which Markdown and HTML list

COLORS = {
    "data_wait": "yellow",
    "host_to_device": "yellow",
    "forward": "blue",
    "backward": "cyan",
    "optimizer": "magenta",
    "communication": "red",
    "sync": "red",
    "compile": "green",
    "unknown": "bright_black",
}


def profile_screen(result: ProfileResult, *, width: int = 100, color: bool = False) -> str:
    """Return the report of `pitstop profile`: the main thing first, then where the time goes and what to do."""
    page = profile_page(result)
    return draw(_parts(page, width=width), width=width, color=color)


def _parts(page: ProfilePage, *, width: int) -> Iterator[RenderableType]:
    yield Text(page.headline, style="bold")
    for remark in page.remarks:
        yield Text(remark, style="red")
    yield Text(page.program, style="dim")
    if page.ledger:
        yield heading(say("report.title.ledger"))
        yield ledger_table(page.ledger, width=width)
    if page.findings:
        yield heading(say("report.title.findings"))
        for number, row in enumerate(page.findings, start=1):
            yield _finding(number, row)
    if page.hot:
        yield heading(say("report.title.hot"))
        yield _hot(tuple(row for row in page.hot if row.share >= _LEAST_HOT) or page.hot[:1])
    if page.facts:
        yield heading(say("report.title.facts"))
        yield facts_table((*page.facts, *page.pipeline_in_short))
    if page.missing:
        yield heading(say("report.title.missing"))
        yield missing_table(page.missing)


def ledger_table(rows: tuple[LedgerRow, ...], *, width: int) -> RenderableType:
    """Return the ledger as bars that share the width left over by names and numbers."""
    table = grid(columns=4, flexible=-1, right=(2, 3))
    room = max(10, min(44, width - 48))
    for row in rows:
        style = COLORS.get(row.category, "white")
        table.add_row(row.name, Text(bar(row.share, width=room), style=style), row.share_text, row.per_step)
    return indented(table)


def facts_table(facts: tuple[Fact, ...]) -> RenderableType:
    """Return labelled facts."""
    table = grid(columns=2, flexible=1)
    for fact in facts:
        table.add_row(Text(fact.name, style="dim"), fact.value)
    return indented(table)


def missing_table(rows: tuple[MissingRow, ...]) -> RenderableType:
    """Return what was not measured, with the reasons."""
    table = grid(columns=2, flexible=1)
    for row in rows:
        table.add_row(row.what, Text(row.why, style="dim"))
    return indented(table)


def _finding(number: int, row: FindingRow) -> RenderableType:
    text = Text()
    text.append(f"{number}. {row.title}", style="bold")
    text.append(f"\n{' · '.join(row.facts)}")
    for evidence in row.evidence:
        text.append(f"\n- {evidence}", style="dim")
    if row.next_action:
        text.append(f"\n{say('report.finding.next')}: ", style="green")
        text.append(row.next_action)
    return indented(text)


def _hot(rows: tuple[HotRow, ...]) -> RenderableType:
    table = grid(columns=3, flexible=2, right=(0,))
    for row in rows:
        table.add_row(row.share_text, Text(row.name, style=COLORS.get(row.category, "")), row.where)
    return indented(table)
