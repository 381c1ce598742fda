"""Where a statement about a module goes: right before its optimizer is made, outside of an `if` that only chooses the optimizer."""

from collections.abc import Sequence
from typing import cast

import libcst as cst
from libcst.metadata import ExpressionContext

from pitstop.records import Site
from pitstop.treat.contract import CannotEdit
from pitstop.treat.edit.file import FileDraft, Rank
from pitstop.treat.edit.names import bindings
from pitstop.treat.edit.parsed import ParsedSource, Statement
from pitstop.treat.edit.sites import call_at, callee_name, statement_at
from pitstop.treat.training import NamedModule

__all__ = ["insert_after_making", "insert_for_module", "is_repeated"]


def insert_for_module(file: FileDraft, module: NamedModule, code: str, *, rank: Rank) -> None:
    """Put `code` before the optimizer of `module`, or after the statement that gives the module its name, if that is later."""
    parsed = file.parsed
    anchor = parsed.statement(call_at(parsed, module.site, likely=lambda call: bool(call.args)))
    places = _places(parsed, anchor, module.expression)
    while isinstance(holder := _holder(parsed, anchor), cst.If) and not any(
        holder in parsed.ancestors(at) for at in places
    ):
        anchor = holder
    line = parsed.position(anchor).start.line
    if not places or any(parsed.position(at).start.line < line for at in places):
        file.insert_before(anchor, code, rank=rank)
        return
    later = parsed.statement(places[0])
    if parsed.block(later) is not parsed.block(anchor):
        raise CannotEdit("no_name_yet", name=module.expression, line=line)
    file.insert_after(later, code, rank=rank)


def is_repeated(parsed: ParsedSource, site: Site) -> bool:
    """Say whether what ran at `site` stands in a loop or, where columns tell the call, in a comprehension."""
    statement = statement_at(parsed, site)
    if any(isinstance(at, cst.For | cst.While) for at in parsed.ancestors(statement)):
        return True
    try:
        call = call_at(parsed, site)
    except CannotEdit:  # several on the line: before Python 3.11 nobody knows which
        return any(isinstance(node, cst.BaseComp) for node in parsed.all_nodes(statement))
    return any(isinstance(at, cst.BaseComp) for at in parsed.ancestors(call))


def insert_after_making(file: FileDraft, site: Site, lines: Sequence[str], *, made: str, rank: Rank) -> None:
    """Put `lines` after the statement in which the call at `site` makes a `made`; before it, where it returns that at once."""
    parsed = file.parsed
    anchor = parsed.statement(call_at(parsed, site, likely=lambda call: callee_name(call) == made))
    while isinstance(holder := _holder(parsed, anchor), cst.If):
        anchor = holder
    returns = isinstance(anchor, cst.SimpleStatementLine) and any(isinstance(one, cst.Return) for one in anchor.body)
    insert = file.insert_before if returns else file.insert_after
    for line in lines:
        insert(anchor, line, rank=rank)


def _places(parsed: ParsedSource, anchor: Statement, expression: str) -> list[cst.CSTNode]:
    """Where the expression is bound in the scope of `anchor`, in source order; [] where it comes from outside."""
    scope = parsed.scope(anchor)
    if expression.isidentifier():
        return bindings(parsed, scope).get(expression, [])
    return [
        node
        for node in parsed.nodes(cst.Attribute, inside=scope)
        if parsed.context(node) is ExpressionContext.STORE and parsed.code(node) == expression
    ]


def _holder(parsed: ParsedSource, statement: Statement) -> cst.CSTNode | None:
    """Return the `if` that a statement stands in, an `elif` or `else` counted to the whole."""
    at = parsed.parent(parsed.block(statement))
    while isinstance(at, cst.Else) or (isinstance(at, cst.If) and isinstance(parsed.parent(at), cst.If)):
        at = parsed.parent(at)
    return cast("Statement", at) if isinstance(at, cst.If) else None
