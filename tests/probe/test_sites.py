"""Frames to places in the user's source."""

import os
import sys
from pathlib import Path

from pitstop.probe import sites


def here():
    return sites.site(sys._getframe(1))


def test_a_site_is_the_expression_being_executed():
    found = [
        "字", here(),
    ]  # fmt: skip
    site = found[1]
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[site["line"] - 1]
    assert line.encode()[site["column"] : site["end_column"]] == b"here()"
    assert site["column"] == line.index("here()") + 2  # bytes, and the sign before it has three
    assert site["path"] == str(Path(__file__).resolve())
    assert site["function"] == "test_a_site_is_the_expression_being_executed"
    assert site["frame"] == id(sys._getframe())


def test_without_columns_there_are_lines():
    """CPython 3.9 and 3.10 have no co_positions."""

    class Code:
        co_filename, co_name, co_firstlineno = __file__, "old", 3

    class Frame:
        f_code, f_lineno, f_lasti, f_back = Code(), 12, 4, None

    found = sites.site(Frame())
    assert (found["line"], found["column"], found["end_line"], found["function"]) == (12, None, None, "old")


def test_the_library_is_nobodys_frame():
    assert sites.is_users(__file__)
    assert not sites.is_users("<string>"), "generated, where the program is no `python -c`"
    assert not sites.is_users(os.__file__)
    assert not sites.is_users("/project/.venv/lib/python3.11/site-packages/torch/nn/module.py")
    assert not sites.is_users(sites.__file__)
    assert not sites.is_users("<frozen runpy>")
    assert not sites.is_users(f"{sys.prefix}/bin/torchrun")


def test_relative_names_mean_the_directory_of_the_start(tmp_path, monkeypatch):
    start = Path.cwd()
    monkeypatch.chdir(tmp_path)
    assert sites.absolute("train.py") == str(start / "train.py")


def test_a_stack_is_outermost_first_and_the_users_only():
    def inner():
        return max([1], key=lambda _: seen.append(sites.stack(sys._getframe())) or 1)

    def outer():
        inner()

    seen = []
    outer()
    functions = [site["function"].rpartition(".")[2] for site in seen[0]]
    assert functions[-4:] == ["test_a_stack_is_outermost_first_and_the_users_only", "outer", "inner", "<lambda>"]
    assert not any("pytest" in Path(site["path"]).parts for site in seen[0])
