"""String keys of a dict literal set in the layout that the literal has."""

from collections.abc import Mapping
from dataclasses import replace

import libcst as cst

from pitstop.treat.edit.style import Style

__all__ = ["edited_dict", "string_key"]


def string_key(element: cst.BaseDictElement) -> str | None:
    """Return the key of an element where it is a plain string."""
    if isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString):
        value = element.key.evaluated_value
        return value if isinstance(value, str) else None
    return None


def edited_dict(literal: cst.Dict, entries: Mapping[str, str], *, style: Style) -> cst.Dict:
    """Return `literal` with string keys set to code; what is new goes to the end."""
    elements: list[cst.BaseDictElement] = []
    left = dict(entries)
    for element in literal.elements:
        key = string_key(element)
        if key is not None and key in left:
            elements.append(element.with_changes(value=cst.parse_expression(left.pop(key))))
        else:
            elements.append(element)
    keys = [element.key for element in literal.elements if isinstance(element, cst.DictElement)]
    quotes = [key.quote for key in keys if isinstance(key, cst.SimpleString)]
    own = replace(style, quote=quotes[-1]) if quotes and quotes[-1] in ("'", '"') else style
    new = [
        cst.DictElement(key=cst.SimpleString(own.string(key)), value=cst.parse_expression(code))
        for key, code in left.items()
    ]
    if not new:
        return literal.with_changes(elements=elements)
    return _appended(literal, elements, new)


def _appended(literal: cst.Dict, elements: list[cst.BaseDictElement], new: list[cst.DictElement]) -> cst.Dict:
    separator, closing = _separator(literal), literal.rbrace.whitespace_before
    trailing_comma = bool(elements) and isinstance(elements[-1].comma, cst.Comma)
    if elements:
        joint = separator
        if isinstance(closing, cst.ParenthesizedWhitespace) and isinstance(separator, cst.ParenthesizedWhitespace):
            joint = closing.with_changes(last_line=separator.last_line, indent=separator.indent)  # keeps the comment
            closing = _plain(closing)
        elements[-1] = elements[-1].with_changes(comma=cst.Comma(whitespace_after=joint))
    made = [element.with_changes(comma=cst.Comma(whitespace_after=separator)) for element in new[:-1]]
    last = new[-1].with_changes(comma=cst.Comma() if trailing_comma else cst.MaybeSentinel.DEFAULT)
    return literal.with_changes(
        elements=[*elements, *made, last], rbrace=literal.rbrace.with_changes(whitespace_before=closing)
    )


def _separator(literal: cst.Dict) -> cst.BaseParenthesizableWhitespace:
    for element in reversed(literal.elements[:-1]):
        if isinstance(element.comma, cst.Comma):
            if isinstance(element.comma.whitespace_after, cst.ParenthesizedWhitespace):
                return _plain(element.comma.whitespace_after)
            return cst.SimpleWhitespace(" ")
    before = literal.lbrace.whitespace_after
    return _plain(before) if isinstance(before, cst.ParenthesizedWhitespace) else cst.SimpleWhitespace(" ")


def _plain(space: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    """Return the same line break without comments."""
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return space
    return space.with_changes(
        first_line=space.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace("")), empty_lines=()
    )
