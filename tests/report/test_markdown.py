"""Markdown for a pull request, read back by a Markdown parser."""

import re

import msgspec
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pitstop.records.results import TuneResult
from pitstop.report.markdown import profile_markdown, tune_markdown
from pitstop.report.markdown_text import block, code, prose

from .samples import confirmed_tune, hostile_tune, photo_profile, photo_tune, starved_tune, stepless_profile, zero_tune

RESULTS = (photo_profile, stepless_profile, photo_tune, confirmed_tune, zero_tune, starved_tune, hostile_tune)
OURS = re.compile(r"<details><summary>[^<>]*</summary>|</details>|<!-- -->")


def text_of(result) -> str:
    return tune_markdown(result) if isinstance(result, TuneResult) else profile_markdown(result)


def tokens(text: str) -> list[Token]:
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        found += [token, *(token.children or [])]
    return found


@pytest.mark.parametrize("build", RESULTS)
def test_no_html_but_ours_reaches_the_page(build, each_language: str) -> None:
    for token in tokens(text_of(build())):
        if token.type in ("html_inline", "html_block"):
            assert OURS.sub("", token.content).strip() == ""


@pytest.mark.parametrize("build", RESULTS)
def test_a_program_cannot_make_links_images_or_emphasis(build) -> None:
    kinds = {token.type for token in tokens(text_of(build()))}
    assert kinds.isdisjoint({"link_open", "image", "em_open", "s_open"})


@pytest.mark.parametrize("build", RESULTS)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(build, each_language: str) -> None:
    tables = 0
    cells = head = 0
    for token in tokens(text_of(build())):
        if token.type == "table_open":
            tables, head = tables + 1, 0
        elif token.type == "tr_open":
            cells = 0
        elif token.type in ("th_open", "td_open"):
            cells += 1
        elif token.type == "tr_close":
            head = head or cells
            assert cells == head
    assert tables or build is stepless_profile


def test_a_bar_in_a_name_does_not_split_a_cell() -> None:
    """The parser drops cells beyond the head, so the reason behind a bar must still be there."""
    tune = photo_tune()
    verdict = msgspec.structs.replace(tune.verdicts[0], treatments=("a|b",), reason="left | right")
    rendered = (
        MarkdownIt("commonmark")
        .enable("table")
        .render(tune_markdown(msgspec.structs.replace(tune, verdicts=(verdict,))))
    )
    assert "<code>a|b</code>" in rendered
    assert "left | right" in rendered


def test_the_headline_comes_first_and_the_patch_is_folded_away() -> None:
    text = text_of(photo_tune())
    assert "2.31x" in text.split("\n")[2]
    assert re.search(r"<details><summary>The patch</summary>\n\n```diff\n--- a/train.py\n", text)
    assert "git apply .pitstop/runs/20261130-142200-train/pitstop.patch" in text
    assert "screened once, no claim" in text


def test_the_patch_can_be_copied_out_as_it_is() -> None:
    """A diff that holds a code fence does not end the block."""
    tune = photo_tune()
    diff = "--- a/README.md\n+++ b/README.md\n@@ -1 +1,3 @@\n-x\n+````sh\n+</details>\n+````"
    text = tune_markdown(
        msgspec.structs.replace(tune, prescription=msgspec.structs.replace(tune.prescription, diff=diff))
    )
    fences = [token.content for token in tokens(text) if token.type == "fence" and token.info == "diff"]
    assert fences == [diff + "\n"]


def test_a_tune_without_gain_has_no_patch() -> None:
    text = text_of(zero_tune())
    assert "none made the program faster" in text
    assert "```" not in text


@pytest.mark.parametrize(
    "text",
    [
        "*a* _b_ `c`",
        "# x",
        "- x",
        "1. x",
        "12) x",
        "<b>&amp;</b>",
        "[a](b)",
        "a|b",
        "~~x~~",
        "$x$",
        "\\",
        "@user #12 https://x.y www.x.y",
        "+1",
        "====",
        "",
    ],
)
def test_prose_reads_back_as_it_was(text: str) -> None:
    rendered = MarkdownIt("commonmark", {"linkify": False}).render(prose(text))
    shown = re.sub(r"<!-- -->|</?p>", "", rendered).strip()
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        shown = shown.replace(entity, character)
    assert shown == text


@pytest.mark.parametrize("text", ["a", "`", "a``b", "`a`", " ", "``` x"])
def test_code_reads_back_as_it_was(text: str) -> None:
    spans = [token.content for token in tokens(code(text)) if token.type == "code_inline"]
    assert spans == [text] or text == " "
    assert [token.content for token in tokens(block(text)) if token.type == "fence"] == [text + "\n"]


def test_names_issues_and_addresses_of_a_program_notify_nobody() -> None:
    text = prose("thanks @octocat, see #12 and https://evil.example or www.evil.example")
    assert not re.search(r"@\w|#\d|://|www\.", text)


def test_a_finding_names_its_owner_and_the_question_for_the_team() -> None:
    shown = profile_markdown(photo_profile())
    assert "high confidence · owner: algorithm)" in shown
    assert "Ask the team: Does anything in" in shown
