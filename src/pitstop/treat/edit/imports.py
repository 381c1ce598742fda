"""Which name a module has in a file, and where an expert would import it."""

from dataclasses import dataclass

import libcst as cst
from libcst.metadata import ExpressionContext

from pitstop.treat.edit.parsed import ParsedSource, Statement

__all__ = ["ImportPlace", "bound_name", "end_of_imports", "import_place", "means_only"]


@dataclass(frozen=True, kw_only=True)
class ImportPlace:
    """Beside a top-level statement; `statement` None means the start of an empty module."""

    index: int  # among the module's statements
    after: bool


def bound_name(parsed: ParsedSource, module: str) -> str | None:
    """Return what `import module` is called in the whole file: "torch", or "th" after `import torch as th`.

    Only imports that run when the file is imported count; `import torch.nn as nn` binds no `torch`.
    """
    for statement in parsed.nodes(cst.Import):
        if any(isinstance(at, cst.FunctionDef | cst.ClassDef | cst.Lambda) for at in parsed.ancestors(statement)):
            continue
        for alias in statement.names:
            dotted = parsed.code(alias.name)
            if alias.asname is None and dotted.split(".")[0] == module:
                return module
            if alias.asname is not None and dotted == module:
                return parsed.code(alias.asname.name)
    return None


def means_only(parsed: ParsedSource, name: str, *, module: str, before: int) -> bool:
    """Say whether `name` is `module` wherever it is bound in the file, if at all, and is so before line `before`."""
    for node in parsed.all_nodes(parsed.module):
        if isinstance(node, cst.Name) and node.value == name and _is_stored(parsed, node):
            return False
        if isinstance(node, cst.Param) and node.name.value == name:
            return False
        if isinstance(node, cst.FunctionDef | cst.ClassDef) and node.name.value == name:
            return False
        if isinstance(node, cst.ImportAlias) and _binds(parsed, node) == name:
            is_it = parsed.code(node.name) == module and isinstance(parsed.parent(node), cst.Import)
            if not is_it or parsed.position(node).start.line >= before:
                return False
    return True


def _is_stored(parsed: ParsedSource, node: cst.Name) -> bool:
    in_import = any(isinstance(at, cst.ImportAlias) for at in parsed.ancestors(node))
    return parsed.context(node) is ExpressionContext.STORE and not in_import


def _binds(parsed: ParsedSource, alias: cst.ImportAlias) -> str:
    if alias.asname is not None:
        return parsed.code(alias.asname.name)
    return parsed.code(alias.name).split(".")[0]


def import_place(parsed: ParsedSource, module: str) -> ImportPlace:
    """Return the place before the first import from the same package, else after the leading imports, the docstring and `__future__`."""
    for index, statement in enumerate(parsed.module.body):
        names = _imported(parsed, statement) or []
        if any(name.split(".")[0] == module for name in names):
            return ImportPlace(index=index, after=False)
    return end_of_imports(parsed)


def end_of_imports(parsed: ParsedSource) -> ImportPlace:
    """Return the place after the docstring and the imports at the head of the file; before its first statement where it has none."""
    last = -1
    for index, statement in enumerate(parsed.module.body):
        if _imported(parsed, statement) is None and not (index == 0 and _is_docstring(statement)):
            break
        last = index
    return ImportPlace(index=max(last, 0), after=last >= 0)


def _imported(parsed: ParsedSource, statement: Statement | cst.BaseStatement) -> list[str] | None:
    """Modules that a statement imports; None for any other statement."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return None
    names: list[str] = []
    for part in statement.body:
        if isinstance(part, cst.Import):
            names += [parsed.code(alias.name) for alias in part.names]
        elif isinstance(part, cst.ImportFrom):
            names.append("." * len(part.relative) + (parsed.code(part.module) if part.module else ""))
        else:
            return None
    return names


def _is_docstring(statement: cst.BaseStatement) -> bool:
    return (
        isinstance(statement, cst.SimpleStatementLine)
        and isinstance(statement.body[0], cst.Expr)
        and isinstance(statement.body[0].value, cst.SimpleString | cst.ConcatenatedString)
    )
