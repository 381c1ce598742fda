"""A patch as lines of coloured pieces: what was added and taken away, and Python's words by what they are."""

from collections.abc import Iterator

import msgspec
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from pitstop.report.content.diff import DiffLine, diff_lines

_KINDS: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "comment"),
    (String, "string"),
    (Number, "number"),
    (Keyword, "keyword"),
    (Operator.Word, "keyword"),
    (Name.Decorator, "name"),
    (Name.Function, "name"),
    (Name.Class, "name"),
)


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Some text of a line; `kind` is "" for what has no colour of its own."""

    kind: str
    text: str


class ColoredLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line; the pieces put together are its text."""

    kind: str
    pieces: tuple[Piece, ...]


def colored_diff(diff: str) -> tuple[ColoredLine, ...]:
    """Return the lines of a unified diff, those of Python files in colour.

    The old and the new side of each hunk are read on their own, so that a text in three quotes that begins in one
    line is known as one in the next.
    """
    lines = diff_lines(diff)
    pieces: dict[int, tuple[Piece, ...]] = {}
    for hunk in _python_hunks(lines):
        for sign in ("-", "+"):
            side = [number for number in hunk if lines[number].text[:1] in (sign, " ", "")]
            colored = _python([lines[number].text[1:] for number in side])
            pieces.update(zip(side, colored, strict=True))
    return tuple(
        ColoredLine(
            kind=line.kind,
            pieces=(Piece(kind="", text=line.text[:1]), *pieces[number])
            if number in pieces
            else (Piece(kind="", text=line.text),),
        )
        for number, line in enumerate(lines)
    )


def _python_hunks(lines: tuple[DiffLine, ...]) -> Iterator[list[int]]:
    """Yield the numbers of the lines of each hunk of a Python file."""
    is_python, hunk = False, list[int]()
    for number, line in enumerate(lines):
        if line.kind in ("file", "hunk"):
            if hunk:
                yield hunk
            hunk = []
            if line.text.startswith(("--- ", "+++ ")):
                is_python = line.text.split("\t")[0].rstrip().endswith((".py", ".pyi"))
        elif is_python and line.text[:1] != "\\":
            hunk.append(number)
    if hunk:
        yield hunk


def _python(code: list[str]) -> list[tuple[Piece, ...]]:
    """Return the pieces of each line of `code`; whole lines without colour where they do not come back as they went in."""
    found: list[list[Piece]] = [[]]
    for token, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens("\n".join(code)):
        kind = next((kind for kinds, kind in _KINDS if token in kinds), "")
        for number, part in enumerate(text.split("\n")):
            if number:
                found.append([])
            if part:
                found[-1].append(Piece(kind=kind, text=part))
    if ["".join(piece.text for piece in line) for line in found] != code:
        return [(Piece(kind="", text=line),) for line in code]
    return [tuple(line) for line in found]
