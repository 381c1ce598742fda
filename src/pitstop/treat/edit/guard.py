"""The main guard for a flat script, so that a worker process may import it."""

import libcst as cst

from pitstop.treat.contract import CannotEdit
from pitstop.treat.edit.file import FileDraft

__all__ = ["guard_script"]


def guard_script(file: FileDraft) -> None:
    """Put the script's own work under `if __name__ == "__main__":`; raises CannotEdit where definitions stand in between.

    Imports, definitions and plain constants before the first working statement stay outside.
    """
    body = file.parsed.module.body
    first = next((index for index, statement in enumerate(body) if not _stays(statement)), None)
    if first is None:
        return
    for statement in body[first:]:
        if isinstance(statement, cst.FunctionDef | cst.ClassDef):
            raise CannotEdit("no_guard", line=file.parsed.position(statement).start.line)
    file.guard_main(first)


def _stays(statement: cst.BaseStatement | cst.SimpleStatementLine) -> bool:
    if isinstance(statement, cst.FunctionDef | cst.ClassDef):
        return True
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    return all(
        isinstance(part, cst.Import | cst.ImportFrom)
        or (isinstance(part, cst.Expr) and isinstance(part.value, cst.SimpleString | cst.ConcatenatedString))
        or (isinstance(part, cst.Assign) and _constant(part.value))
        for part in statement.body
    )


def _constant(value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.Tuple | cst.List):
        return all(_constant(element.value) for element in value.elements)
    if isinstance(value, cst.UnaryOperation):
        return _constant(value.expression)
    return isinstance(value, cst.Integer | cst.Float | cst.SimpleString | cst.Name)
