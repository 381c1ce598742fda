"""An edit changes what it must and nothing else, to the byte."""

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.treat import CannotEdit
from pitstop.treat.edit import Draft
from pitstop.treat.edit.file import Rank
from treat.golden import NAMES, view_of

PIECES = [
    "import torch",
    "x  =  1 ;y=2",
    "def f( a,b = 1 , *c ) :\n{i}return  a",
    "class A :\n{i}'''doc'''\n{i}def m(self): pass  # 说明",
    "if x :\n{i}y = [1,\n  2 ,\n{i}]\nelif y: z\nelse :\n{i}# nothing\n{i}pass",
    "for i in range( 3 ) :\n{i}x += i  \n{i}\n{i}y = (x,\n   # inner\n   i)",
    "s = '''a\n  b\t\n'''",
    "try :\n{i}f(1)\nexcept  (A , B) as e :\n{i}raise",
    "with open('a') as g , open(\"b\") as h :\n{i}g.read( ) \\\n{i}{i}.strip()",
    "@dec\n\n# between\ndef g(): ...",
    "x = lambda : 0",
    "# only a comment",
    "",
    "   ",
    "\x0c",
    "文字 = f'{x!r:>{y}}'",
    "async def h():\n{i}await f(1)\n{i}async for i in x: pass",
    "print(*a, **{'b': 1,}, )",
]
INDENTS = ["    ", "  ", "\t", " "]
ENDS = ["\n", "\r\n"]


@st.composite
def programs(draw):
    """Valid Python in someone's own style."""
    indent, end = draw(st.sampled_from(INDENTS)), draw(st.sampled_from(ENDS))
    pieces = draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12))
    text = "\n".join(piece.replace("{i}", indent) for piece in pieces) + draw(
        st.sampled_from(["", "\n", "\n\n\n", "\n# end"])
    )
    bom = draw(st.sampled_from(["", "\ufeff"]))
    return bom + text.replace("\n", end)


@given(text=programs())
@settings(max_examples=60, deadline=None)
def test_a_draft_without_edits_gives_back_the_same_bytes(text):
    draft = Draft({"/a.py": text})
    assert draft.file("/a.py").text() == text
    assert not draft.finish().files


@given(text=programs(), data=st.data())
@settings(max_examples=40, deadline=None)
def test_an_inserted_line_is_the_only_difference(text, data):
    file = Draft({"/a.py": text}).file("/a.py")
    statements = [
        node
        for node in file.parsed.all_nodes(file.parsed.module)
        if isinstance(node, cst.SimpleStatementLine)
        and isinstance(file.parsed.parent(node), cst.Module | cst.IndentedBlock)
    ]
    if not statements:
        return
    at = data.draw(st.sampled_from(statements))
    file.insert_before(at, "inserted()", rank=Rank.COMPILE)
    before, after = text.split("\n"), file.text().split("\n")
    index = next(index for index, line in enumerate(after) if line.strip("\ufeff \t\r\f") == "inserted()")
    if index == 0 and text.startswith("\ufeff"):
        after[1] = "\ufeff" + after[1]
    assert after[:index] + after[index + 1 :] == before


@pytest.mark.parametrize("name", NAMES)
def test_programs_of_people_come_back_unchanged(name):
    sources = view_of(name).sources
    for path, text in sources.items():
        for end, tail in zip(ENDS, ["# x", ""], strict=True):
            styled = text.replace("\r\n", "\n").replace("\n", end) + tail
            assert Draft({path: styled}).file(path).text() == styled


@pytest.mark.parametrize("text", ["def f(:\n", "print 'python 2'\n", "x = (\n", "\x00"])
def test_what_is_no_python_is_refused(text):
    with pytest.raises(CannotEdit, match="cannot be read as Python"):
        Draft({"/a.py": text}).file("/a.py")
