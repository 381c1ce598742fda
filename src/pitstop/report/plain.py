"""Text that came from the user's program or disk, made harmless before any format escapes it.

Paths, module names, error output and diffs may hold terminal escapes, control characters, direction overrides (which make
code look like other code) or bytes that are no text. All of `pitstop.report.content` passes such text through here;
HTML and Markdown escape on top of it.
"""

import re
import unicodedata

# CSI, OSC (ended by BEL or ST), the other string sequences, and two-character escapes (ECMA-48).
_TERMINAL_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
# Joiners (U+200C, U+200D) are left: Persian words and emoji need them, and they move nothing.
_HARMLESS_FORMAT = frozenset("\u200c\u200d\u00ad")


def plain(text: str, *, limit: int = 2000) -> str:
    """Return `text` as one harmless line of at most `limit` characters, an ellipsis marking the cut."""
    line = " ".join(plain_lines(text[: limit * 4]).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def plain_lines(text: str) -> str:
    """Return `text` with its lines and tabs kept and terminal escapes removed, other invisible characters shown as <U+202E>."""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")  # lone surrogates of undecodable file names
    text = _TERMINAL_ESCAPE.sub("", text).replace("\r\n", "\n")
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in "\n\t" or character in _HARMLESS_FORMAT:
        return character
    category = unicodedata.category(character)
    if category == "Cc":
        return "\n" if character == "\r" else " "
    if category in ("Cf", "Zl", "Zp", "Cs"):
        return f"<U+{ord(character):04X}>"
    return character
