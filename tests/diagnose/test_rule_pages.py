"""Every rule has its page in both languages, with the usual headings, and the words that help people to act."""

import re
from pathlib import Path

import pytest

from pitstop.diagnose.rules import RULES

DOCS = Path(__file__).parents[2] / "docs" / "rules"
HEADINGS = {
    ".md": [
        "What it sees",
        "Why it is slow",
        "How it is detected",
        "How it is fixed",
        "What it can gain",
        "When it is wrong",
    ],
    ".zh.md": ["看到什么", "为什么慢", "如何检测", "如何修复", "能带来多少收益", "何时不适用"],
}
HAN = re.compile(r"[\u4e00-\u9fff]")

each = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.fault)


@each
@pytest.mark.parametrize("suffix", HEADINGS)
def test_it_has_a_page_with_the_usual_headings(rule, suffix):
    path = DOCS / f"{rule.fault}{suffix}"
    assert path.exists(), (
        f"write docs/rules/{path.name} with the headings of its neighbours ({', '.join(HEADINGS[suffix])})"
    )
    page = path.read_text("utf-8")
    assert f"`{rule.fault}`" in page
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == HEADINGS[suffix]
    sections = re.split(r"^## .+$", page, flags=re.MULTILINE)[1:]
    assert min(len(section.strip()) for section in sections) >= (40 if suffix == ".md" else 15)
    assert bool(HAN.search(page)) == (suffix == ".zh.md")


@each
def test_it_says_who_owns_it_and_what_to_ask(rule):
    assert rule.owner in ("algorithm", "platform", "product")
    for name in ("rule_of_thumb", "picture", "question", "reference"):
        text = getattr(rule, name)
        assert text is not None, f"{rule.fault} has no {name}: see docs/how-to/write-a-rule.md"
        assert HAN.search(text.zh)
        assert not HAN.search(text.en)


def test_no_page_is_left_of_a_rule_that_is_gone():
    assert {path.name.split(".")[0] for path in DOCS.glob("*.md")} == {rule.fault for rule in RULES}
