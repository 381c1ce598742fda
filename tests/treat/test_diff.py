import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pitstop.records import Change
from pitstop.treat import CannotEdit, decode_source, unified_diff

LINES = st.lists(
    st.sampled_from(["x = 1", "", "\ty", "文字 = 'ü'", "a\x0cb", "# \u2028", "end\r", "--- a", "+++ b", "@@ -1 +1 @@"]),
    max_size=12,
)
TEXTS = st.tuples(LINES, st.booleans()).map(lambda made: "\n".join(made[0]) + ("\n" if made[0] and made[1] else ""))


def applied(before: dict[str, str], after: dict[str, str], folder) -> None:
    """Check that git turns `before` into `after` with our diff."""
    for name, text in before.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    sources = {f"/p/{name}": text for name, text in before.items()}
    change = Change(files={f"/p/{name}": text for name, text in after.items()})
    patch = unified_diff(change, sources, root="/p")
    subprocess.run(["git", "apply", "-p1"], input=patch.encode(), cwd=folder, check=True)
    for name, text in after.items():
        assert (folder / name).read_bytes() == text.encode()


@given(before=TEXTS, after=TEXTS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_git_applies_any_diff(before, after, tmp_path):
    if before and after and before != after:
        applied({"a.py": before}, {"a.py": after}, tmp_path)


@pytest.mark.parametrize(
    "name", ["with space.py", "模型/训练.py", 'quo"te.py', "back\\slash.py", "deep/er/x.py", "tab\there.py"]
)
def test_unusual_names_apply(name, tmp_path):
    applied({name: "a = 1\n"}, {name: "a = 2\n"}, tmp_path)


def test_several_files_are_in_one_diff_in_order(tmp_path):
    applied({"b.py": "1\n", "a.py": "1\n"}, {"b.py": "2\n", "a.py": "3"}, tmp_path)


def test_no_change_is_no_diff():
    assert unified_diff(Change(), {}, root="/p") == ""


def test_a_file_outside_the_root_is_refused():
    with pytest.raises(CannotEdit, match="not below"):
        unified_diff(Change(files={"/q/a.py": "2"}), {"/q/a.py": "1"}, root="/p")


def test_sources_keep_bom_and_line_ends():
    data = "\ufeffa = 1\r\nb = 2".encode()
    text = decode_source(data)
    assert text is not None
    assert text.encode() == data


@pytest.mark.parametrize(
    "data", [b"# coding: latin-1\nx = 1\n", b"#!/usr/bin/python\n# -*- coding: gbk -*-\n", b"x = '\xff'\n"]
)
def test_other_encodings_are_not_guessed(data):
    assert decode_source(data) is None


def test_a_declared_utf8_is_read():
    assert decode_source(b"# -*- coding: utf_8 -*-\n") == "# -*- coding: utf_8 -*-\n"
