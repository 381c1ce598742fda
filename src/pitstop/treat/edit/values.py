"""Where a value in the source comes from: a literal, a constant of the file, an option of the program's own parser."""

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import ExpressionContext

from pitstop.records import ArgparseOption
from pitstop.treat.edit.names import bindings
from pitstop.treat.edit.parsed import ParsedSource
from pitstop.treat.edit.sites import callee_name

__all__ = ["Origin", "bound_once", "origin_of", "reads_of"]


@dataclass(frozen=True, kw_only=True)
class Origin:
    """`option`: set on the launch line. `literal`: may be replaced, because nothing else reads it. `parameter`: of the function around."""

    option: ArgparseOption | None = None
    parameter: cst.Param | None = None
    literal: cst.BaseExpression | None = None


def origin_of(
    parsed: ParsedSource, value: cst.BaseExpression, *, options: Sequence[ArgparseOption], now: object
) -> Origin:
    """Follow `value`, which was `now` in the run, to where a person would change it; an empty Origin where that is unclear."""
    for _ in range(8):
        if isinstance(value, cst.Call) and callee_name(value) == "int" and len(value.args) == 1:
            value = value.args[0].value
        if isinstance(value, cst.Integer) or (isinstance(value, cst.Name) and value.value in ("True", "False", "None")):
            return Origin(literal=value)
        name = _member(value)
        if name is not None:
            fitting = [item for item in options if item.takes_value and item.value == now]
            option = next((item for item in fitting if item.dest == name and item.style == "option"), None)
            option = option or _override(_chain(value), fitting)
            return Origin(option=option if option is not None and option.flags else None)
        if not isinstance(value, cst.Name):
            return Origin()
        places = bindings(parsed, parsed.scope(value)).get(value.value, [])
        if len(places) == 1 and isinstance(places[0], cst.Param):
            return Origin(parameter=places[0])
        bound = bound_once(parsed, value)
        if bound is None or (isinstance(bound, cst.Integer) and len(reads_of(parsed, value)) != 1):
            return Origin()
        value = bound
    return Origin()


def bound_once(parsed: ParsedSource, name: cst.Name) -> cst.BaseExpression | None:
    """Return what a name is assigned, where exactly one plain assignment in its scope binds it."""
    scope = parsed.scope(name)
    places = bindings(parsed, scope).get(name.value) or bindings(parsed, parsed.module).get(name.value, [])
    if len(places) != 1:
        return None
    target = parsed.parent(places[0])
    if isinstance(target, cst.AnnAssign) and target.target is places[0]:
        return target.value
    assign = parsed.parent(target) if isinstance(target, cst.AssignTarget) else None
    return assign.value if isinstance(assign, cst.Assign) and len(assign.targets) == 1 else None


def reads_of(parsed: ParsedSource, name: cst.Name) -> list[cst.Name]:
    """Return every use of a name in the file that is no binding of it; same spelling counts, whatever the scope."""
    return [at for at in parsed.nodes(cst.Name) if at.value == name.value and _is_read(parsed, at)]


def _is_read(parsed: ParsedSource, at: cst.Name) -> bool:
    """`name`, `f(name)` or `name.attr`; not `f(name=...)` or `x.name`, which libcst also calls loads."""
    holder = parsed.parent(at)
    if isinstance(holder, cst.Arg | cst.Attribute) and holder.value is not at:
        return False
    return parsed.context(at) is ExpressionContext.LOAD


def _chain(value: cst.BaseExpression) -> tuple[str, ...]:
    """Return the names of `config.data["workers"]` from the outermost on, as far as they can be told."""
    name = _member(value)
    if name is None:
        return (value.value,) if isinstance(value, cst.Name) else ()
    inner = value.value if isinstance(value, cst.Attribute | cst.Subscript) else value
    return (*_chain(inner), name)


def _override(chain: tuple[str, ...], options: Sequence[ArgparseOption]) -> ArgparseOption | None:
    """Return the configuration key that `chain` reads: the one that shares most of its last names; None where several do."""
    shared = [
        (_shared(chain[1:], tuple(option.dest.split("."))), option) for option in options if option.style == "override"
    ]
    most = max((count for count, _option in shared), default=0)
    best = [option for count, option in shared if count == most]
    return best[0] if most and len(best) == 1 else None


def _shared(chain: tuple[str, ...], path: tuple[str, ...]) -> int:
    count = 0
    for one, other in zip(reversed(chain), reversed(path), strict=False):
        if one != other:
            break
        count += 1
    return count


def _member(value: cst.BaseExpression) -> str | None:
    """Return the name in `args.name` or `args["name"]`."""
    if isinstance(value, cst.Attribute):
        return value.attr.value
    if isinstance(value, cst.Subscript) and len(value.slice) == 1 and isinstance(value.slice[0].slice, cst.Index):
        key = value.slice[0].slice.value
        if isinstance(key, cst.SimpleString) and isinstance(key.evaluated_value, str):
            return key.evaluated_value
    return None
