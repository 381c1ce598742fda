"""From a place that the probe saw to the node of the source: `co_positions()` columns are UTF-8 bytes, libcst's are characters."""

from collections.abc import Callable

import libcst as cst

from pitstop.records import Site
from pitstop.treat.contract import CannotEdit
from pitstop.treat.edit.parsed import Block, ParsedSource, Statement

__all__ = ["call_at", "callee_name", "statement_at"]


def call_at(parsed: ParsedSource, site: Site, *, likely: Callable[[cst.Call], bool] = lambda _: True) -> cst.Call:
    """Return the call that ran at `site`.

    With columns the closing parenthesis tells calls apart, whatever the start: CPython reports a method call that
    spans lines from its attribute on. With a line only (Python 3.9, 3.10), the one `likely` call starting there.
    Raises CannotEdit where none or several fit (`exec`, a changed file, two calls on a line).
    """
    calls = list(parsed.nodes(cst.Call))
    if site.end_line is not None and site.end_column is not None:
        column = _characters(parsed, site.end_line, site.end_column)
        ends = (site.end_line, column)
        found = [call for call in calls if _end(parsed, call) == ends]
    else:
        on_line = [call for call in calls if site.line in _lines(parsed, call)]
        found = [call for call in on_line if likely(call)] or on_line
    if len(found) != 1:
        raise CannotEdit("no_call" if not found else "several_calls", path=site.path, line=site.line)
    return found[0]


def statement_at(parsed: ParsedSource, site: Site) -> Statement:
    """Return the innermost statement with lines of its own at `site`; `if x: f()` is one. Raises CannotEdit."""
    inner: Statement | None = None
    for node in parsed.all_nodes(parsed.module):
        if not isinstance(node, Statement) or not isinstance(parsed.parent(node), Block):
            continue
        span = parsed.position(node)
        if span.start.line <= site.line <= span.end.line:
            inner = node  # source order: a later match lies inside
    if inner is None:
        raise CannotEdit("no_call", path=site.path, line=site.line)
    return inner


def callee_name(call: cst.Call) -> str | None:
    """Return the last name of what is called ("DataLoader" of `data.DataLoader(...)`), None where it has no name."""
    if isinstance(call.func, cst.Attribute):
        return call.func.attr.value
    return call.func.value if isinstance(call.func, cst.Name) else None


def _characters(parsed: ParsedSource, line: int, column_bytes: int) -> int:
    if not 1 <= line <= len(parsed.lines):
        return -1
    return len(parsed.lines[line - 1].encode()[:column_bytes].decode(errors="replace"))


def _end(parsed: ParsedSource, call: cst.Call) -> tuple[int, int]:
    end = parsed.position(call).end
    return end.line, end.column


def _lines(parsed: ParsedSource, call: cst.Call) -> set[int]:
    """Lines that Python 3.9 and 3.10 give for a call: its first, or that of the attribute called."""
    lines = {parsed.position(call).start.line}
    if isinstance(call.func, cst.Attribute):
        lines.add(parsed.position(call.func.attr).start.line)
    return lines
