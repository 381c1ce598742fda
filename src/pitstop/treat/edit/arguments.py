"""Arguments of a call set, replaced or removed in the layout that the call already has."""

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from pitstop.treat.contract import CannotEdit

__all__ = ["ArgumentEdit", "edited_call", "keyword_argument"]


@dataclass(frozen=True, kw_only=True)
class ArgumentEdit:
    """What one argument becomes; `code` None removes it. `instead_of`: the keyword argument that it takes the place of."""

    keyword: str
    code: str | None
    position: int | None = None  # where the parameter may also stand without keyword
    instead_of: str | None = None


def keyword_argument(call: cst.Call, keyword: str, *, position: int | None = None) -> cst.Arg | None:
    """Return the argument for a parameter, by keyword or (without a star before it) by position."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == keyword:
            return arg
    if position is not None:
        leading = call.args[: position + 1]
        if len(leading) == position + 1 and all(arg.keyword is None and not arg.star for arg in leading):
            return leading[position]
    return None


def edited_call(
    original: cst.Call, updated: cst.Call, edits: Sequence[ArgumentEdit], *, wrap_column: int | None
) -> cst.Call:
    """Return `updated` with `edits` made. `wrap_column`: start added arguments on a new line there (None: same line)."""
    args = list(updated.args)
    added: list[cst.Arg] = []
    for edit in edits:
        old = keyword_argument(original, edit.instead_of or edit.keyword, position=edit.position)
        old = old or keyword_argument(original, edit.keyword, position=edit.position)
        if old is not None:
            at = next(index for index, arg in enumerate(original.args) if arg is old)
            args[at] = _replaced(args[at], edit)
        elif edit.code is not None:
            added.append(_new(args, edit.keyword, edit.code))
    kept = _without_removed(args)
    return updated.with_changes(args=_appended(kept, added, updated, wrap_column) if added else kept)


_REMOVED = cst.Name("pitstop_removed_argument")


def _replaced(arg: cst.Arg, edit: ArgumentEdit) -> cst.Arg:
    if edit.code is None:
        return arg.with_changes(value=_REMOVED)
    if arg.star:
        raise CannotEdit("conflict", what=edit.keyword)
    keyword = arg.keyword and arg.keyword.with_changes(value=edit.keyword)
    return arg.with_changes(value=cst.parse_expression(edit.code), keyword=keyword)


def _without_removed(args: list[cst.Arg]) -> list[cst.Arg]:
    """Drop removed arguments; where the last one goes, its ending moves to the one before."""
    kept = [arg for arg in args if arg.value is not _REMOVED]
    if kept and args[-1].value is _REMOVED:
        kept[-1] = kept[-1].with_changes(comma=args[-1].comma, whitespace_after_arg=args[-1].whitespace_after_arg)
    return kept


def _new(args: Sequence[cst.Arg], keyword: str, code: str) -> cst.Arg:
    """Return a keyword argument spaced like the call's others (`a=1` or `a = 1`)."""
    like = next((arg.equal for arg in args if isinstance(arg.equal, cst.AssignEqual)), None)
    tight = cst.AssignEqual(whitespace_before=cst.SimpleWhitespace(""), whitespace_after=cst.SimpleWhitespace(""))
    equal = like if like is not None and "\n" not in cst.Module([]).code_for_node(like) else tight
    return cst.Arg(value=cst.parse_expression(code), keyword=cst.Name(keyword), equal=equal)


def _appended(args: list[cst.Arg], added: list[cst.Arg], call: cst.Call, wrap_column: int | None) -> list[cst.Arg]:
    """Add at the end; a trailing comma, comments and one-per-line layout stay as they are."""
    if not args:
        return [*(arg.with_changes(comma=_comma(cst.SimpleWhitespace(" "))) for arg in added[:-1]), added[-1]]
    last = args[-1]
    ends_with_comma = isinstance(last.comma, cst.Comma)
    closing = last.comma.whitespace_after if isinstance(last.comma, cst.Comma) else last.whitespace_after_arg
    separator = _separator(args, call, wrap_column)
    joint = _joint(closing, separator, call)
    before_comma = last.comma.whitespace_before if isinstance(last.comma, cst.Comma) else cst.SimpleWhitespace("")
    args[-1] = last.with_changes(
        comma=cst.Comma(whitespace_before=before_comma, whitespace_after=joint),
        whitespace_after_arg=cst.SimpleWhitespace(""),
    )
    between = separator if wrap_column is None else cst.SimpleWhitespace(" ")
    added = [*(arg.with_changes(comma=_comma(between)) for arg in added[:-1]), added[-1]]
    closing = _without_comment(closing)
    if ends_with_comma:
        added[-1] = added[-1].with_changes(comma=_comma(closing))
    else:
        added[-1] = added[-1].with_changes(whitespace_after_arg=closing)
    return args + added


def _separator(args: Sequence[cst.Arg], call: cst.Call, wrap_column: int | None) -> cst.BaseParenthesizableWhitespace:
    """Return what stands between two arguments of this call, without comments."""
    for arg in reversed(args[:-1]):
        if isinstance(arg.comma, cst.Comma):
            if wrap_column is None and isinstance(arg.comma.whitespace_after, cst.ParenthesizedWhitespace):
                return _without_comment(arg.comma.whitespace_after)
            break
    if len(args) == 1 and isinstance(call.whitespace_before_args, cst.ParenthesizedWhitespace):
        return _without_comment(call.whitespace_before_args)
    if wrap_column is not None:
        return cst.ParenthesizedWhitespace(
            first_line=cst.TrailingWhitespace(whitespace=cst.SimpleWhitespace("")),
            indent=True,
            last_line=cst.SimpleWhitespace(" " * wrap_column),
        )
    return cst.SimpleWhitespace(" ")


def _joint(
    closing: cst.BaseParenthesizableWhitespace, separator: cst.BaseParenthesizableWhitespace, call: cst.Call
) -> cst.BaseParenthesizableWhitespace:
    """Return what stands between the old last argument and the first added one, comments behind the old last included."""
    if not isinstance(closing, cst.ParenthesizedWhitespace):
        return separator
    if not isinstance(separator, cst.ParenthesizedWhitespace):
        if closing.first_line.comment is None and not closing.empty_lines:
            return separator
        before = call.whitespace_before_args
        separator = before if isinstance(before, cst.ParenthesizedWhitespace) else closing
    return closing.with_changes(last_line=separator.last_line, indent=separator.indent)


def _without_comment(space: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return space
    first = space.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
    return space.with_changes(first_line=first, empty_lines=())


def _comma(after: cst.BaseParenthesizableWhitespace) -> cst.Comma:
    return cst.Comma(whitespace_after=after)
