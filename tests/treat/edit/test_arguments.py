"""One argument set, in every layout that a call may have."""

import libcst as cst
import pytest

from pitstop.treat.edit.arguments import ArgumentEdit
from pitstop.treat.edit.file import FileDraft

SET = ArgumentEdit(keyword="n", code="2", position=2)


def edited(text: str, *edits: ArgumentEdit) -> str:
    draft = FileDraft("/x.py", text)
    call = next(
        call for call in draft.parsed.nodes(cst.Call) if isinstance(call.func, cst.Name) and call.func.value == "f"
    )
    for edit in edits:
        draft.edit_argument(call, edit)
    return draft.text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()", "f(n=2)"),
        ("f(a)", "f(a, n=2)"),
        ("f(a, )", "f(a, n=2, )"),
        ("f(a,b)", "f(a,b, n=2)"),
        ("f(a, b = 1)", "f(a, b = 1, n = 2)"),
        ("f(a, n=0, b=1)", "f(a, n=2, b=1)"),
        ("f(a, n = 0)", "f(a, n = 2)"),
        ("f(a, b, 0)", "f(a, b, 2)"),
        ("f(a, b, 0, c)", "f(a, b, 2, c)"),
        ("f(\n    a,\n    b=1,\n)", "f(\n    a,\n    b=1,\n    n=2,\n)"),
        ("f(\n    a,\n    b=1\n)", "f(\n    a,\n    b=1,\n    n=2\n)"),
        ("f(\n    a,\n    b=1,  # why\n)", "f(\n    a,\n    b=1,  # why\n    n=2,\n)"),
        ("f(\n    a,\n    b=1  # why\n)", "f(\n    a,\n    b=1,  # why\n    n=2\n)"),
        ("f(\n    a,\n    # last\n)", "f(\n    a,\n    # last\n    n=2,\n)"),
        ("f(\n    a\n)", "f(\n    a,\n    n=2\n)"),
        ("f(\n    a, b=1,\n)", "f(\n    a, b=1, n=2,\n)"),
        ("f(\n    a, b=1,  # why\n)", "f(\n    a, b=1,  # why\n    n=2,\n)"),
        ("f(a,\n  b=1)", "f(a,\n  b=1,\n  n=2)"),
        ("f(\n\ta,\n\tb=1,\n)", "f(\n\ta,\n\tb=1,\n\tn=2,\n)"),
        ("f(\r\n    a,\r\n    b=1,\r\n)\r\n", "f(\r\n    a,\r\n    b=1,\r\n    n=2,\r\n)\r\n"),
        ("x = [f(a) for a in b]  # all", "x = [f(a, n=2) for a in b]  # all"),
        ("if 1:\n  y = g(f(a,\n           b))", "if 1:\n  y = g(f(a,\n           b,\n           n=2))"),
        ("f(f_(1), *c)", "f(f_(1), *c, n=2)"),
    ],
)
def test_an_argument_is_set_in_the_layout_of_the_call(before, after):
    assert edited(before, SET) == after


def test_a_long_line_is_broken_once_and_aligned():
    before = f"    result = f({'a' * 60}, batch=1)"
    after = edited(
        f"if 1:\n{before}\n", ArgumentEdit(keyword="workers", code="2"), ArgumentEdit(keyword="zero", code="1")
    )
    assert after == f"if 1:\n{before[:-1]},\n               workers=2, zero=1)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(a, n=1, b=2)", "f(a, b=2)"),
        ("f(a, n=1)", "f(a)"),
        ("f(\n  a,\n  n=1,\n)", "f(\n  a,\n)"),
        ("f(n=1)", "f()"),
        ("f(a)", "f(a)"),
    ],
)
def test_an_argument_is_removed(before, after):
    assert edited(before, ArgumentEdit(keyword="n", code=None)) == after


def test_one_keyword_takes_the_place_of_another():
    edit = ArgumentEdit(keyword="fused", code="True", instead_of="foreach")
    assert edited("f(a, foreach=False, b=1)", edit) == "f(a, fused=True, b=1)"
