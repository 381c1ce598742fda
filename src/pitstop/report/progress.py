"""What `pitstop tune` shows while it works, from values. The caller owns the `rich.live.Live` and its clock."""

import msgspec
from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from pitstop.messages import say
from pitstop.report import numbers
from pitstop.report.content.facts import SEPARATOR
from pitstop.report.plain import plain


class TuneProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a tune stands. `phase` is in words, in the chosen language.

    `expected` is the number of trials that are likely to be needed (it may grow; 0 while unknown), `eta_s` None while
    nothing is known of it; `last` is one line of news (the latest verdict, a busy machine).
    """

    phase: str
    done: int
    expected: int
    elapsed_s: float
    eta_s: float | None = None
    last: str = ""


def progress(state: TuneProgress) -> RenderableType:
    """Return the two lines to show now."""
    row = Table.grid(padding=(0, 2))
    row.add_column(no_wrap=True, overflow="ellipsis")
    row.add_column(width=24)
    total = max(state.expected, state.done, 1)
    bar = ProgressBar(total=total, completed=state.done, width=24)
    row.add_row(Text(plain(state.phase), style="bold"), bar)
    news = Text(_counts(state), no_wrap=True, overflow="ellipsis")
    if state.last:
        news.append(f"{SEPARATOR}{plain(state.last)}", style="dim")
    return Group(row, news)


def progress_line(state: TuneProgress) -> str:
    """Return the same as one line of plain text, for output that is no terminal."""
    parts = [plain(state.phase), _counts(state), plain(state.last)]
    return SEPARATOR.join(part for part in parts if part)


def _counts(state: TuneProgress) -> str:
    parts: list[str] = []
    if state.expected or state.done:
        expected = max(state.expected, state.done)
        parts.append(say("report.progress.trials", done=numbers.count(state.done), expected=numbers.count(expected)))
    parts.append(say("report.progress.elapsed", time=numbers.rough_duration(state.elapsed_s)))
    if state.eta_s is not None:
        parts.append(say("report.progress.eta", time=numbers.rough_duration(state.eta_s)))
    return SEPARATOR.join(parts)
