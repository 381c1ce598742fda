"""A region of the training step moved into a function of the module, so that it can be compiled as one."""

import libcst as cst
from libcst.metadata import CodePosition, ExpressionContext

from pitstop.treat.contract import CannotEdit
from pitstop.treat.edit.file import FileDraft
from pitstop.treat.edit.names import bindings, names_in
from pitstop.treat.edit.parsed import ParsedSource, Scope
from pitstop.treat.edit.regions import Region

__all__ = ["move_to_function"]

_LEAVES = cst.Return | cst.Break | cst.Continue | cst.Yield | cst.Await | cst.Del | cst.Global | cst.Nonlocal


def move_to_function(file: FileDraft, region: Region, *, decorator: str) -> None:
    """Move `region` into a decorated function before the top-level statement around it; raises CannotEdit.

    What the region needs of the function around it becomes parameters, what is used afterwards is returned.
    """
    parsed = file.parsed
    _check(parsed, region)
    region.split_loss(file)
    names = names_in(parsed, region.statements())
    split = [region.split] if region.split else []
    used = (
        _read_outside(parsed, region) | set(names.needed) | set(split)
    )  # needed: by the same statements in the next round
    returned = [name for name in [*names.bound, *split] if name in used]
    perhaps = [name for name in returned if name not in names.surely and name not in split]
    outer = _outer_names(parsed, region)
    taken = list(dict.fromkeys(name for name in [*names.needed, *perhaps] if name in outer))
    for name in taken:
        if not outer[name]:
            raise CannotEdit("perhaps_unbound", path=parsed.path, name=name)
    name, params, results = _function_name(file, region), ", ".join(taken), ", ".join(returned)
    call = f"{name}({params})"
    file.move_to_function(
        region.block,
        region.range,
        anchor=parsed.top_level(region.statements()[0]),
        head=f"@{decorator}\ndef {name}({params}):",
        tail=f"return {results}" if results else "",
        call=f"{results} = {call}" if results else call,
    )


def _check(parsed: ParsedSource, region: Region) -> None:
    """Refuse what means something else, or nothing, inside another function."""
    scope = parsed.scope(region.backward)
    declared = {
        item.name.value
        for node in parsed.all_nodes(scope)
        if isinstance(node, cst.Global | cst.Nonlocal)
        for item in node.names
    }
    in_class = any(isinstance(at, cst.ClassDef) for at in parsed.ancestors(region.backward))
    for statement in region.statements():
        for node in parsed.all_nodes(statement):
            line = parsed.position(statement).start.line
            if isinstance(node, _LEAVES):
                raise CannotEdit("region_leaves", path=parsed.path, line=line)
            if isinstance(node, cst.Name) and node.value == "super":
                raise CannotEdit("region_private", path=parsed.path, line=line)
            if (
                in_class
                and isinstance(node, cst.Attribute)
                and node.attr.value.startswith("__")
                and not node.attr.value.endswith("__")
            ):
                raise CannotEdit("region_private", path=parsed.path, line=line)
            if (
                isinstance(node, cst.Name)
                and node.value in declared
                and parsed.context(node) is ExpressionContext.STORE
            ):
                raise CannotEdit("region_leaves", path=parsed.path, line=line)


def _outer_names(parsed: ParsedSource, region: Region) -> dict[str, bool]:
    """Return the names that the new function cannot see by itself, and whether each is bound before the region is reached.

    These are locals of the functions around, or what the script's own loop around the region binds.
    """
    start = parsed.position(region.statements()[0]).start
    found: dict[str, bool] = {}
    functions = [at for at in parsed.ancestors(region.backward) if isinstance(at, cst.FunctionDef)]
    tops = [parsed.top_level(statement) for statement in region.statements()]
    scopes: list[Scope] = [*functions] or [parsed.module]
    for scope in scopes:
        for name, places in bindings(parsed, scope).items():
            if not functions and not any(top in parsed.ancestors(place) for place in places for top in tops):
                continue
            before = any(
                isinstance(place, cst.Param) or _before(parsed.position(place).start, start) for place in places
            )
            found[name] = found.get(name, False) or before
    return found


def _before(one: CodePosition, other: CodePosition) -> bool:
    return (one.line, one.column) < (other.line, other.column)


def _read_outside(parsed: ParsedSource, region: Region) -> set[str]:
    """Names read in the same function or script anywhere but in the region; `x += 1` reads x."""
    inside = set(region.statements())
    found: set[str] = set()
    scope = parsed.scope(region.backward)
    stack: list[cst.CSTNode] = [scope if isinstance(scope, cst.Module) else scope.body]
    while stack:
        node = stack.pop()
        if node in inside:
            continue
        if isinstance(node, cst.Name):
            stored = parsed.context(node) is ExpressionContext.STORE
            if not stored or isinstance(parsed.parent(node), cst.AugAssign):
                found.add(node.value)
        stack.extend(node.children)
    return found


def _function_name(file: FileDraft, region: Region) -> str:
    """`compute_loss` for a region whose result is `loss`; another name where it is taken."""
    parsed = file.parsed
    wanted = "forward_and_loss"
    if region.split:
        wanted = f"compute_{region.split}"
    elif isinstance(region.backward, cst.SimpleStatementLine):
        bound = names_in(parsed, region.statements()).bound
        for call in parsed.nodes(cst.Call, inside=region.backward):
            loss = (
                call.func.value if isinstance(call.func, cst.Attribute) and call.func.attr.value == "backward" else None
            )
            first = call.args[0].value if loss is not None and call.args else None
            if isinstance(loss, cst.Name) and loss.value not in bound and isinstance(first, cst.Name):
                loss = first  # accelerator.backward(loss)
            if isinstance(loss, cst.Name):
                wanted = f"compute_{loss.value}"
            elif isinstance(loss, cst.Attribute):
                wanted = f"compute_{loss.attr.value}"
    taken = {node.value for node in parsed.nodes(cst.Name)} | file.new_names
    name = next(name for name in (wanted, *(f"{wanted}_{number}" for number in range(2, 99))) if name not in taken)
    file.new_names.add(name)
    return name
