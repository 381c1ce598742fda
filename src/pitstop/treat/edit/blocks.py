"""The statements of one block put together anew: inserted lines, a `with` around some, some moved into a function."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import libcst as cst

from pitstop.treat.edit.file import Range
from pitstop.treat.edit.parsed import Block

__all__ = ["Entry", "arranged", "function_node", "guarded", "moved_range", "wrapped"]

AnyStatement = cst.SimpleStatementLine | cst.BaseCompoundStatement


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One statement of the new block. Statement i of the old one has key 2i; what stands before it, 2i - 0.5."""

    key: float
    node: cst.BaseStatement | cst.SimpleStatementLine
    rank: int = 0
    text: str = ""
    inserted: bool = False  # before the statement that follows: takes over its blank lines
    takes_comments: bool = False  # and its comment lines too
    apart: bool = False  # two blank lines around it


def arranged(entries: Sequence[Entry]) -> list[cst.BaseStatement]:
    """Return the statements in order; blank lines stay above the whole group, comment lines at what they comment."""
    ordered = sorted(entries, key=lambda entry: (entry.key, entry.rank, entry.text))
    nodes: list[cst.BaseStatement] = []
    group: list[Entry] = []
    for entry in ordered:
        if entry.inserted:
            group.append(entry)
            continue
        nodes += _grouped(group, entry, first=not nodes)
        group = []
    nodes += [entry.node for entry in group]
    return nodes


def _grouped(group: Sequence[Entry], owner: Entry, *, first: bool) -> list[cst.BaseStatement]:
    """Return inserted statements and the one that they stand before."""
    if not group:
        return [owner.node]
    blank, comments = _lead(owner.node)
    if any(entry.takes_comments for entry in group):
        blank, comments = [*blank, *comments], []
    made: list[cst.BaseStatement] = []
    gap = [cst.EmptyLine(indent=False)] * 2
    owed = False  # two blank lines are due before the next statement
    for entry in group:
        lead: list[cst.EmptyLine] = blank if not made else []
        if entry.apart or owed:
            lead = [*gap[: max(0, 2 - len(lead))], *lead] if made or not first else lead
        made.append(_with_lead(entry.node, lead))
        owed = entry.apart
    return [*made, _with_lead(owner.node, [*gap, *comments] if owed else comments)]


def wrapped(entries: Sequence[Entry], range_: Range, header: str, *, module: cst.Module, outer: Block) -> list[Entry]:
    """Return `entries` with those of `range_` in the body of `header`."""
    inside, outside = _inside(entries, range_)
    body = arranged(inside)
    lead = cast("AnyStatement", body[0]).leading_lines
    body[0] = _with_lead(body[0], [])
    node = _compound(header, body, module=module, indent=outer.indent if isinstance(outer, cst.IndentedBlock) else None)
    return [*outside, Entry(key=2 * range_.first, node=_with_lead(node, lead))]


def moved_range(
    entries: Sequence[Entry], range_: Range, call: str, *, module: cst.Module
) -> tuple[list[cst.BaseStatement], list[Entry]]:
    """Take the statements of `range_` out and put `call` there; comment lines go with the statements."""
    inside, outside = _inside(entries, range_)
    body = arranged(inside)
    blank, comments = _lead(body[0])
    body[0] = _with_lead(body[0], comments)
    line = _with_lead(cst.parse_statement(call, module.config_for_parsing), blank)
    return body, [*outside, Entry(key=2 * range_.first, node=line)]


def function_node(head: str, content: Sequence[cst.BaseStatement], tail: str, *, module: cst.Module) -> cst.FunctionDef:
    """Return the function with `content` as its body and `tail` as its last line."""
    body = [
        *content,
        *([cast("cst.BaseStatement", cst.parse_statement(tail, module.config_for_parsing))] if tail else []),
    ]
    return cast("cst.FunctionDef", _compound(head, body, module=module, indent=None))


def guarded(entries: Sequence[Entry], index: int, *, quote: str, module: cst.Module) -> list[cst.BaseStatement]:
    """Put everything from statement `index` on under the main guard; functions that were added stay outside."""
    kept = [
        replace(entry, key=min(entry.key, 2 * index - 1))
        for entry in entries
        if entry.apart or entry.key < 2 * index - 0.5
    ]
    inside = [entry for entry in entries if not entry.apart and entry.key >= 2 * index - 0.5]
    body = arranged(inside)
    blank, comments = _lead(body[0])
    body[0] = _with_lead(body[0], comments)
    header = f"if __name__ == {quote}__main__{quote}:"
    guard = _with_lead(_compound(header, body, module=module, indent=None), blank)
    return arranged([*kept, Entry(key=2 * index, node=guard)])


def _inside(entries: Sequence[Entry], range_: Range) -> tuple[list[Entry], list[Entry]]:
    inside = [entry for entry in entries if 2 * range_.first <= entry.key <= 2 * range_.last]
    return inside, [entry for entry in entries if not 2 * range_.first <= entry.key <= 2 * range_.last]


def _compound(
    header: str, body: Sequence[cst.BaseStatement], *, module: cst.Module, indent: str | None
) -> cst.BaseCompoundStatement:
    parsed = cst.parse_statement(f"{header}\n{module.default_indent}pass\n", module.config_for_parsing)
    node = cast("cst.BaseCompoundStatement", parsed)
    return node.with_changes(body=cst.IndentedBlock(body=list(body), indent=indent))


def _lead(node: cst.BaseStatement | cst.SimpleStatementLine) -> tuple[list[cst.EmptyLine], list[cst.EmptyLine]]:
    """Split the lines above a statement: up to the last blank one, and the comments right above it."""
    lines = list(cast("AnyStatement", node).leading_lines)
    at = max((index + 1 for index, line in enumerate(lines) if line.comment is None), default=0)
    return lines[:at], lines[at:]


def _with_lead(node: cst.BaseStatement | cst.SimpleStatementLine, lines: Sequence[cst.EmptyLine]) -> cst.BaseStatement:
    return node.with_changes(leading_lines=list(lines))
