"""Text of users in Markdown, shown as it is: as prose, as a code span, as a code block."""

import re

_MARKUP = re.compile(r"([\\`*_\[\]|~$])|^([-+#=])")
_NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")
_LINKING = re.compile(r"(@|#(?=\d)|:(?=//)|www(?=\.))")
_BACKTICKS = re.compile(r"`+")


def prose(text: str) -> str:
    """Return text of a user so that Markdown and HTML show it as it is: no markup, no link, no mention, no issue number."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _NUMBERED.sub(r"\1\\\2", _MARKUP.sub(r"\\\1\2", text))
    # GitHub links names, issues and addresses in what it has rendered, so escaping them is not enough; a comment parts them.
    return _LINKING.sub(r"\1<!-- -->", text)


def code(text: str) -> str:
    """Return text of a user as a code span, fenced by more backticks than it holds."""
    if not text:
        return ""
    fence = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or text.isspace() else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def block(text: str, *, language: str = "") -> str:
    """Return text of a user as a code block, fenced by more backticks than it holds."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
