"""Which names some statements read and bind, in the order in which they run; enough to move them into a function."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import libcst as cst
from libcst.metadata import ExpressionContext

from pitstop.treat.edit.parsed import ParsedSource, Scope

__all__ = ["Names", "bindings", "names_in", "parameters"]

_COMPREHENSION = cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp


@dataclass(kw_only=True)
class Names:
    """`needed` are read before they are surely bound here; `bound` and `surely` (bound on every way through) keep order."""

    read: set[str] = field(default_factory=set)
    needed: list[str] = field(default_factory=list)
    bound: list[str] = field(default_factory=list)
    surely: set[str] = field(default_factory=set)


def names_in(parsed: ParsedSource, statements: Iterable[cst.CSTNode]) -> Names:
    """Return what `statements` read and bind as plain names."""
    names = Names()
    for statement in statements:
        _walk(parsed, statement, names, hidden=frozenset())
    return names


def bindings(parsed: ParsedSource, scope: Scope) -> dict[str, list[cst.CSTNode]]:
    """Return name -> the places that bind it in a function or module, its parameters included; inner functions are apart."""
    found: dict[str, list[cst.CSTNode]] = {}
    if isinstance(scope, cst.FunctionDef):
        for param in parameters(scope):
            found.setdefault(param.name.value, []).append(param)
    _collect_bindings(parsed, scope.body, found)
    return found


def parameters(function: cst.FunctionDef | cst.Lambda) -> list[cst.Param]:
    """Return all parameters, stars included."""
    params = function.params
    stars = [star for star in (params.star_arg, params.star_kwarg) if isinstance(star, cst.Param)]
    return [*params.posonly_params, *params.params, *params.kwonly_params, *stars]


def _collect_bindings(
    parsed: ParsedSource, node: cst.CSTNode | Sequence[cst.CSTNode], found: dict[str, list[cst.CSTNode]]
) -> None:
    if isinstance(node, Sequence):
        for item in node:
            _collect_bindings(parsed, item, found)
        return
    if isinstance(node, cst.FunctionDef | cst.ClassDef):
        found.setdefault(node.name.value, []).append(node)
        return
    if isinstance(node, cst.Lambda | _COMPREHENSION):
        return
    if isinstance(node, cst.ImportAlias):
        name = node.asname.name if node.asname is not None else node.name
        found.setdefault(parsed.code(name).split(".")[0], []).append(node)
        return
    if isinstance(node, cst.Name) and parsed.context(node) is ExpressionContext.STORE:
        found.setdefault(node.value, []).append(node)
    for child in node.children:
        _collect_bindings(parsed, child, found)


def _walk(parsed: ParsedSource, node: cst.CSTNode, names: Names, *, hidden: frozenset[str]) -> None:
    """Visit in the order of execution: values before targets, each branch from what was surely bound before it."""
    if isinstance(node, cst.Name):
        _name(parsed, node, names, hidden=hidden)
    elif isinstance(node, cst.FunctionDef | cst.Lambda):
        _function(parsed, node, names, hidden=hidden)
    elif isinstance(node, cst.If | cst.IfExp):
        _choice(parsed, node, names, hidden=hidden)
    elif isinstance(node, cst.For | cst.While | cst.Try | cst.TryStar | cst.Match | cst.BooleanOperation):
        _perhaps(parsed, node, names, hidden=hidden)
    else:
        if isinstance(node, _COMPREHENSION):
            hidden |= _comprehension_targets(parsed, node)
        if isinstance(node, cst.AugAssign):
            for name in parsed.nodes(cst.Name, inside=node.target):
                _read(names, name.value, hidden)
        for child in _ordered(node):
            _walk(parsed, child, names, hidden=hidden)


def _choice(parsed: ParsedSource, node: cst.If | cst.IfExp, names: Names, *, hidden: frozenset[str]) -> None:
    """Walk `if`: surely bound afterwards is what both ways bind."""
    _walk(parsed, node.test, names, hidden=hidden)
    before = set(names.surely)
    _walk(parsed, node.body, names, hidden=hidden)
    after_body, names.surely = names.surely, set(before)
    if node.orelse is not None:
        _walk(parsed, node.orelse, names, hidden=hidden)
    names.surely &= after_body


def _perhaps(parsed: ParsedSource, node: cst.CSTNode, names: Names, *, hidden: frozenset[str]) -> None:
    """Walk what may run not at all, or in part: afterwards nothing more is surely bound than before."""
    before = set(names.surely)
    for child in _ordered(node):
        _walk(parsed, child, names, hidden=hidden)
        if not isinstance(node, cst.For | cst.BooleanOperation):
            names.surely = set(before)
    names.surely = before


def _ordered(node: cst.CSTNode) -> Sequence[cst.CSTNode]:
    if isinstance(node, cst.Assign):
        return [node.value, *node.targets]
    if isinstance(node, cst.AnnAssign | cst.AugAssign):
        return [child for child in node.children if child is not node.target] + [node.target]
    if isinstance(node, cst.For):
        return [node.iter, *[child for child in node.children if child is not node.iter]]
    if isinstance(node, cst.Arg):
        return [node.value]
    if isinstance(node, cst.NamedExpr):
        return [node.value, node.target]
    return node.children


def _name(parsed: ParsedSource, node: cst.Name, names: Names, *, hidden: frozenset[str]) -> None:
    context = parsed.context(node)
    if node.value in hidden or context is None:
        return
    if context is ExpressionContext.LOAD:
        _read(names, node.value, hidden)
    elif context is ExpressionContext.STORE:
        if node.value not in names.bound:
            names.bound.append(node.value)
        names.surely.add(node.value)


def _read(names: Names, name: str, hidden: frozenset[str]) -> None:
    if name in hidden:
        return
    names.read.add(name)
    if name not in names.surely and name not in names.needed:
        names.needed.append(name)


def _function(
    parsed: ParsedSource, node: cst.FunctionDef | cst.Lambda, names: Names, *, hidden: frozenset[str]
) -> None:
    own = {param.name.value for param in parameters(node)}
    for param in parameters(node):
        if param.default is not None:
            _walk(parsed, param.default, names, hidden=hidden)
    if isinstance(node, cst.FunctionDef):
        own |= set(bindings(parsed, node))
        if node.name.value not in names.bound:
            names.bound.append(node.name.value)
        names.surely.add(node.name.value)
    inner = Names()
    _walk(parsed, node.body, inner, hidden=hidden | own)
    for name in inner.needed:
        _read(names, name, frozenset())


def _comprehension_targets(parsed: ParsedSource, node: cst.CSTNode) -> frozenset[str]:
    return frozenset(
        name.value
        for part in parsed.nodes(cst.CompFor, inside=node)
        for name in parsed.nodes(cst.Name, inside=part.target)
        if parsed.context(name) is ExpressionContext.STORE
    )
