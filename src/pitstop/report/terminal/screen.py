"""From rich renderables to one string. Text of users never passes through rich's markup or highlighters."""

from collections.abc import Iterable
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

NARROWEST = 40  # below this, words break inside cells and nothing can be read


def draw(parts: Iterable[RenderableType], *, width: int, color: bool) -> str:
    """Return `parts` one below the other, no line wider than `width` (at least 40), ending in a newline.

    Without `color` there is no escape sequence in the result. Reads no environment, so equal input gives equal text.
    """
    stream = StringIO()
    console = Console(
        file=stream,
        width=max(width, NARROWEST),
        force_terminal=color,
        force_interactive=False,
        color_system="standard" if color else None,
        no_color=not color,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    console.print(Group(*parts), end="")
    lines = stream.getvalue().split("\n")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"


def heading(title: str) -> RenderableType:
    """Return a section title with an empty line above it."""
    return Padding(Text(title, style="bold"), (1, 0, 0, 0))


def grid(*, columns: int, flexible: int, right: tuple[int, ...] = ()) -> Table:
    """Return an unframed, indented table in which only column `flexible` folds, and columns `right` are right-aligned."""
    table = Table.grid(padding=(0, 2), pad_edge=False, expand=False)
    for index in range(columns):
        table.add_column(
            justify="right" if index in right else "left",
            no_wrap=index != flexible,
            overflow="fold" if index == flexible else "ellipsis",
            ratio=None,
        )
    return table


def indented(renderable: RenderableType) -> RenderableType:
    """Return `renderable` two columns in."""
    return Padding(renderable, (0, 0, 0, 2))


def bar(share: float, *, width: int) -> str:
    """Return a bar of eighth blocks for a share from 0 to 1; anything above nothing shows at least one eighth."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return "█" * full + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[rest]
