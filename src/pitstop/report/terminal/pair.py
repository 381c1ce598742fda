"""Two runs or versions side by side on the terminal."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from pitstop.messages import say
from pitstop.records.results import CompareResult, GateResult
from pitstop.report.content.compare import compare_page
from pitstop.report.content.gate import gate_page
from pitstop.report.content.pair import PairPage
from pitstop.report.terminal.profile import facts_table
from pitstop.report.terminal.screen import draw, grid, heading, indented

_STYLE = {True: "bold green", False: "bold red", None: "bold"}


def gate_screen(result: GateResult, *, width: int = 100, color: bool = False) -> str:
    """Return the report of `pitstop gate`."""
    return draw(_parts(gate_page(result)), width=width, color=color)


def compare_screen(result: CompareResult, *, width: int = 100, color: bool = False) -> str:
    """Return the report of `pitstop compare`."""
    return draw(_parts(compare_page(result)), width=width, color=color)


def _parts(page: PairPage) -> Iterator[RenderableType]:
    yield Text(page.headline, style=_STYLE[page.good])
    for caveat in page.caveats:
        yield Text(caveat)
    yield Text(page.program, style="dim")
    if page.rows:
        yield heading(say("report.title.ledger"))
        yield _rows(page)
        yield indented(Text(page.note, style="dim"))
    yield heading(say("report.title.account"))
    yield facts_table(page.facts)


def _rows(page: PairPage) -> RenderableType:
    table = grid(columns=4, flexible=0, right=(1, 2, 3))
    table.add_row("", *(Text(title, style="dim") for title in (*page.titles, say("gate.column_change"))))
    for row in page.rows:
        table.add_row(row.name, row.first, row.second, row.change)
    return indented(table)
