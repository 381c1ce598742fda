"""Setting one parameter of a call where people write it: as keyword, by position, in a dict that is unpacked into the call."""

import libcst as cst

from pitstop.treat.contract import CannotEdit
from pitstop.treat.edit.arguments import ArgumentEdit, keyword_argument
from pitstop.treat.edit.dicts import string_key
from pitstop.treat.edit.file import FileDraft
from pitstop.treat.edit.sites import callee_name
from pitstop.treat.edit.values import bound_once, reads_of

__all__ = ["calls_class", "parameter_value", "set_parameter"]


def calls_class(file: FileDraft, call: cst.Call, class_name: str) -> bool:
    """Say whether a call constructs `class_name` itself: by its name, an alias, a variable that holds it, or `super().__init__`."""
    if callee_name(call) == class_name:
        return True
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "__init__":
        return isinstance(call.func.value, cst.Call) and callee_name(call.func.value) == "super"
    if not isinstance(call.func, cst.Name):
        return isinstance(call.func, cst.Call) and callee_name(call.func) == "getattr"
    for statement in file.parsed.nodes(cst.ImportFrom):
        for alias in statement.names if not isinstance(statement.names, cst.ImportStar) else ():
            if (
                file.parsed.code(alias.name) == class_name
                and alias.asname
                and file.parsed.code(alias.asname.name) == call.func.value
            ):
                return True
    value = bound_once(file.parsed, call.func)
    return value is not None and any(
        name.value in (class_name, "getattr") for name in file.parsed.nodes(cst.Name, inside=value)
    )


def parameter_value(
    file: FileDraft, call: cst.Call, keyword: str, *, position: int | None = None
) -> cst.BaseExpression | None:
    """Return the expression that a parameter is given, also inside an unpacked dict that is written out; None if not seen."""
    arg = keyword_argument(call, keyword, position=position)
    if arg is not None:
        return arg.value
    for arg in call.args:
        literal = _own_literal(file, arg.value) if arg.star == "**" else None
        if isinstance(literal, cst.Dict):
            for element in literal.elements:
                if string_key(element) == keyword:
                    return element.value
        elif isinstance(literal, cst.Call):
            inner = keyword_argument(literal, keyword)
            if inner is not None:
                return inner.value
    return None


def set_parameter(
    file: FileDraft,
    call: cst.Call,
    keyword: str,
    code: str,
    *,
    position: int | None = None,
    instead_of: str | None = None,
) -> None:
    """Give a parameter the value `code`. `instead_of` names a keyword whose place it takes. Raises CannotEdit."""
    edit = ArgumentEdit(keyword=keyword, code=code, position=position, instead_of=instead_of)
    given = keyword_argument(call, keyword, position=position) or (
        keyword_argument(call, instead_of) if instead_of else None
    )
    unpacked = [arg for arg in call.args if arg.star == "**"]
    if given is None and position is not None and any(arg.star == "*" for arg in call.args[: position + 1]):
        raise CannotEdit("starred_call", line=file.parsed.position(call).start.line)
    if given is not None or not unpacked:
        file.edit_argument(call, edit)
        return
    holder = next((arg for arg in unpacked if _holds(file, arg.value, keyword)), unpacked[-1])
    literal = _own_literal(file, holder.value)
    if isinstance(literal, cst.Dict):
        file.set_entry(literal, keyword, code)
    elif isinstance(literal, cst.Call):
        file.edit_argument(literal, ArgumentEdit(keyword=keyword, code=code))
    else:
        file.merge_entry(holder.value, keyword, code)


def _own_literal(file: FileDraft, value: cst.BaseExpression) -> cst.Dict | cst.Call | None:
    """Return the dict literal or `dict(...)` behind `**value`, where it serves this one call and nobody changes it on the way."""
    if isinstance(value, cst.Name):
        bound = bound_once(file.parsed, value)
        if bound is None or len(reads_of(file.parsed, value)) != 1:
            return None
        value = bound
    if isinstance(value, cst.Dict):
        return value
    plain = (
        isinstance(value, cst.Call)
        and callee_name(value) == "dict"
        and all(arg.keyword is not None for arg in value.args)
    )
    return value if isinstance(value, cst.Call) and plain else None


def _holds(file: FileDraft, value: cst.BaseExpression, keyword: str) -> bool:
    literal = _own_literal(file, value)
    if isinstance(literal, cst.Dict):
        return any(string_key(element) == keyword for element in literal.elements)
    return literal is not None and keyword_argument(literal, keyword) is not None
