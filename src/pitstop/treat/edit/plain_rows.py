"""Whether a dataset class of the user's does nothing but take a row of what it holds: then it takes many rows as well."""

from typing import TYPE_CHECKING

import libcst as cst

from pitstop.treat.edit.parsed import ParsedSource, parse_source
from pitstop.treat.edit.sites import callee_name

if TYPE_CHECKING:
    from pitstop.treat.contract import View

__all__ = ["takes_many_rows"]

# They take rows as they take a row, and make a tensor of either.
_CONVERTERS = frozenset(["from_numpy", "as_tensor"])
_OWN_WAYS = frozenset(["__getitems__", "__getattr__", "__getattribute__"])


def takes_many_rows(view: "View", qualified: str) -> bool:
    """Say whether the class's `__getitem__` is one `return` of `self.name[index]`, alone or in a tuple, list or dict.

    The class must be found once in the project's sources and derive from torch's Dataset alone. That what it indexes takes a list
    of rows (a list does not) is for the trial to show.
    """
    name = qualified.rsplit(".", 1)[-1]
    found = [
        (file, node) for file in _files(view, qualified) for node in file.nodes(cst.ClassDef) if node.name.value == name
    ]
    if len(found) != 1:
        return False
    file, definition = found[0]
    bases = [file.code(base.value).rsplit(".", 1)[-1] for base in definition.bases]
    if bases not in (["Dataset"], []):
        return False
    methods = {item.name.value: item for item in definition.body.body if isinstance(item, cst.FunctionDef)}
    getter = methods.get("__getitem__")
    return getter is not None and not _OWN_WAYS & methods.keys() and not getter.decorators and _is_plain(getter)


def _files(view: "View", qualified: str) -> list[ParsedSource]:
    """Return the sources whose module could be the class's; `__main__` is the script."""
    module = qualified.rsplit(".", 1)[0]
    environment = view.evidence.environment
    script = environment.script if environment is not None else None
    ends = module.replace(".", "/") + ".py"
    paths = [path for path in view.sources if (path == script if module == "__main__" else path.endswith("/" + ends))]
    return [parse_source(path, view.sources[path]) for path in paths]


def _is_plain(getter: cst.FunctionDef) -> bool:
    if len(getter.params.params) != 2 or not isinstance(getter.body, cst.IndentedBlock):
        return False
    index = getter.params.params[1].name.value
    statements = [
        small
        for line in getter.body.body
        for small in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])
        if not (isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString | cst.ConcatenatedString))
    ]
    if len(statements) != 1 or not isinstance(statements[0], cst.Return) or statements[0].value is None:
        return False
    return _rows(statements[0].value, index)


def _rows(value: cst.BaseExpression, index: str) -> bool:
    """Say whether an expression is rows of attributes of self, in whatever container `default_collate` keeps."""
    if isinstance(value, cst.Tuple | cst.List):
        return bool(value.elements) and all(
            isinstance(element, cst.Element) and _row(element.value, index) for element in value.elements
        )
    if isinstance(value, cst.Dict):
        return bool(value.elements) and all(
            isinstance(element, cst.DictElement)
            and isinstance(element.key, cst.SimpleString)
            and _row(element.value, index)
            for element in value.elements
        )
    return _row(value, index)


def _row(value: cst.BaseExpression, index: str) -> bool:
    if isinstance(value, cst.Call) and callee_name(value) in _CONVERTERS:
        return len(value.args) == 1 and value.args[0].keyword is None and _row(value.args[0].value, index)
    if not isinstance(value, cst.Subscript) or len(value.slice) != 1:
        return False
    at, holder = value.slice[0].slice, value.value
    return (
        isinstance(at, cst.Index)
        and isinstance(at.value, cst.Name)
        and at.value.value == index
        and isinstance(holder, cst.Attribute)
        and isinstance(holder.value, cst.Name)
        and holder.value.value == "self"
    )
