"""The result of a fit on the terminal."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from pitstop.messages import say
from pitstop.records.results import FitResult
from pitstop.report.content.diff import diff_lines
from pitstop.report.content.fit import FitPage, fit_page
from pitstop.report.terminal.profile import facts_table, missing_table
from pitstop.report.terminal.screen import draw, grid, heading, indented
from pitstop.report.terminal.tune import continued

_DIFF_STYLE = {"add": "green", "del": "red", "hunk": "cyan", "file": "bold", "same": ""}
_STYLE = {"fits": "green", "tight": "yellow", "out-of-memory": "bold red", "failed": "bright_black"}


def fit_screen(result: FitResult, *, width: int = 100, color: bool = False) -> str:
    """Return the report of `pitstop fit`."""
    return draw(_parts(fit_page(result), width=width), width=width, color=color)


def _parts(page: FitPage, *, width: int) -> Iterator[RenderableType]:
    yield Text(page.headline, style="bold")
    for caveat in page.caveats:
        yield Text(caveat)
    yield Text(page.program, style="dim")
    yield heading(say("fit.title_sizes"))
    yield _sizes(page)
    if page.diff or page.launch:
        yield heading(say("fit.title_edit"))
        yield from _edit(page, width=width)
    if page.suggestion:
        yield heading(say("fit.title_by_hand"))
        yield indented(Text(page.suggestion, overflow="fold"))
    if page.missing:
        yield heading(say("report.title.missing"))
        yield missing_table(page.missing)
    yield heading(say("report.title.account"))
    yield facts_table(page.facts)


def _sizes(page: FitPage) -> RenderableType:
    table = grid(columns=5, flexible=1, right=(2, 3))
    titles = ("batch", "outcome", "memory", "time")
    table.add_row(*(Text(say(f"fit.column_{name}"), style="dim") for name in titles), "")
    for row in page.rows:
        mark = Text(f"← {say('fit.chosen')}" if row.chosen else "", style="bold")
        table.add_row(row.batch, Text(row.outcome_label, style=_STYLE[row.outcome]), row.memory, row.time, mark)
    return indented(table)


def _edit(page: FitPage, *, width: int) -> Iterator[RenderableType]:
    if page.diff:
        text = Text(overflow="fold", tab_size=4)
        for line in diff_lines(page.diff):
            text.append(f"{line.text}\n", style=_DIFF_STYLE[line.kind])
        yield indented(text)
    for key, command in (("report.handover.apply", page.apply), ("report.handover.launch", page.launch)):
        if command:
            yield indented(Text(f"{say(key)}:", style="dim"))
            yield indented(indented(Text(continued(command, width=width - 4), style="bold", overflow="fold")))
    if not page.launch:
        yield indented(Text(say("report.handover.launch_same"), style="dim"))
