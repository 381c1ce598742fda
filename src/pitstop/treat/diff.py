"""Source texts to a unified diff that `git apply -p1` takes at the root, and bytes to source texts."""

import difflib
import re
from collections.abc import Mapping
from pathlib import PurePath

from pitstop.records import Change
from pitstop.treat.contract import CannotEdit

__all__ = ["decode_source", "unified_diff"]


def unified_diff(change: Change, sources: Mapping[str, str], *, root: str) -> str:
    """Return the diff of all changed files, paths relative to `root`; "" where no file changes.

    Line ends, BOM and a missing last newline are kept, so write it as UTF-8 with `newline=""`. Raises CannotEdit for a
    file outside `root`.
    """
    parts: list[str] = []
    for path in sorted(change.files):
        if not PurePath(path).is_relative_to(root):
            raise CannotEdit("outside_root", path=path, root=root)
        name = PurePath(path).relative_to(root).as_posix()
        before, after = _lines(sources[path]), _lines(change.files[path])
        lines = difflib.unified_diff(before, after, _header_name(f"a/{name}"), _header_name(f"b/{name}"))
        parts += [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]
    return "".join(parts)


def decode_source(data: bytes) -> str | None:
    """Return a source file's bytes as the text that `View.sources` wants; None where it is not UTF-8 (or says it is not)."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    declared = re.search(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", "\n".join(text.split("\n")[:2]), re.MULTILINE)
    if declared is not None and declared[1].lower().replace("_", "-") not in (
        "utf-8",
        "utf8",
        "utf-8-sig",
        "ascii",
        "us-ascii",
    ):
        return None
    return text


def _lines(text: str) -> list[str]:
    """Split after line feeds only, as git does: a form feed or a lone carriage return is no line end."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _header_name(name: str) -> str:
    """Quote a path as git reads it: C style where it must be, a tab behind one with spaces."""
    if any(ord(sign) < 32 or sign in '"\\' for sign in name):
        escaped = "".join(f"\\{ord(sign):03o}" if ord(sign) < 32 or sign in '"\\' else sign for sign in name)
        return f'"{escaped}"'
    return f"{name}\t" if " " in name else name
