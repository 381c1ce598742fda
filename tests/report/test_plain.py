"""Text from a program's files and output cannot move the cursor, hide code, or break the encoding."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.report.plain import plain, plain_lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;https://evil.example\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x1b\\after", "after"),
        ("\x1b]0;never ended", ""),
        ("\x1bPq payload\x1b\\x", "x"),
        ("\x9b31mred", "red"),
        ("\x1b(0lq\x1bc", "lq"),
        ("a\x07b\x00c\x08d", "a b c d"),
        ("access\u202egpj.exe", "access<U+202E>gpj.exe"),
        ("zero\u200bwidth", "zero<U+200B>width"),
        ("bytes \udcff\udc80", "bytes \\udcff\\udc80"),
        ("一二三 café 👩\u200d🔬", "一二三 café 👩\u200d🔬"),
        ("two\nlines\tand\r\nmore", "two lines and more"),
    ],
)
def test_only_visible_text_is_left(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_lines_and_tabs_of_a_diff_are_kept() -> None:
    assert plain_lines("-\tif x:\r\n+\tif\x1b[8m y:\n") == "-\tif x:\n+\tif y:\n"


def test_a_very_long_text_is_cut_and_says_so() -> None:
    assert plain("x" * 50, limit=10) == "x" * 9 + "…"
    assert plain("x" * 10, limit=10) == "x" * 10


@given(st.text(alphabet=st.characters(), max_size=300))
def test_nothing_that_is_not_text_survives(text: str) -> None:
    shown = plain(text)
    shown.encode("utf-8")
    assert "\n" not in shown
    bad = [
        c
        for c in shown
        if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in "\u202a\u202b\u202d\u202e\u2066\u2067"
    ]
    assert bad == []
    assert plain(shown) == shown
