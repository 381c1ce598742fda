"""A unified diff as lines with a kind each, for colouring."""

import msgspec


class DiffLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line. `kind` is "file", "hunk", "add", "del" or "same"; the text keeps its leading sign."""

    kind: str
    text: str


def diff_lines(diff: str) -> tuple[DiffLine, ...]:
    """Return the lines of a unified diff; () for no diff.

    A line inside a hunk is told by its sign alone, so that a removed line "-- x" is not taken for a file header.
    """
    found: list[DiffLine] = []
    old = new = 0
    for text in diff.split("\n") if diff else ():
        if old > 0 or new > 0:
            kind = {"+": "add", "-": "del", "\\": "same"}.get(text[:1], "same")
            old -= kind == "del" or (kind == "same" and text[:1] != "\\")
            new -= kind == "add" or (kind == "same" and text[:1] != "\\")
        elif text.startswith("@@"):
            kind = "hunk"
            old, new = _lengths(text)
        else:
            kind = "same" if text.startswith(("\\", " ")) else "file"
        found.append(DiffLine(kind=kind, text=text))
    return tuple(found)


def _lengths(hunk: str) -> tuple[int, int]:
    lengths: list[int] = []
    for part in hunk.split()[1:3]:
        length = part.partition(",")[2] or "1"
        lengths.append(int(length) if length.isascii() and length.isdigit() else 0)
    return (lengths[0], lengths[1]) if len(lengths) == 2 else (0, 0)
