"""The documentation: its reference holds everything that the code has, its links lead somewhere, and options are explained."""

import importlib.util
import re
from pathlib import Path

import pytest

from pitstop.diagnose.rules import RULES
from pitstop.messages import LANGUAGES, choose_language
from pitstop.report.keys import result_keys
from pitstop.treat import TREATMENTS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
HAN = re.compile(r"[\u4e00-\u9fff]")
UNEXPLAINED = {"--help", "--version"}


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("docs_reference", DOCS / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(reference, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    reference.write_pages(folder)
    choose_language("en")
    return {path.name: path.read_text("utf-8") for path in folder.iterdir()}


def test_there_is_a_page_of_each_kind_in_each_language(reference, pages):
    assert set(pages) == {name + suffix for name in reference.PAGES for suffix in (".md", ".zh.md")}
    assert all(HAN.search(text) for name, text in pages.items() if name.endswith(".zh.md"))
    assert not any(HAN.search(text) for name, text in pages.items() if not name.endswith(".zh.md"))


@pytest.mark.parametrize("suffix", [".md", ".zh.md"])
def test_every_rule_and_treatment_is_there_with_its_page(pages, suffix):
    for rule in RULES:
        assert f"(../rules/{rule.fault}.md)" in pages["rules" + suffix]
        assert f"## {rule.fault}\n" in pages["rules" + suffix]
    for treatment in TREATMENTS:
        text = pages["treatments" + suffix].split(f"## {treatment.name}\n")[1].split("\n## ")[0]
        assert f"(../treatments/{treatment.name}.md)" in text
        assert re.search(r"- (Numerics class|数值类别): \S", text), f"{treatment.name}: no numerics class in its source"


def test_every_key_of_a_result_is_in_a_table(pages):
    fields = {part.rstrip("[]{}") for key in result_keys() for part in key.split(".")[1:]}
    missing = [name for name in sorted(fields) if f"| {name} |" not in pages["results.md"]]
    categories = set(re.findall(r"'(\w+)'", str(missing)))
    assert set(missing) <= categories & set(_categories())
    assert "| ceiling_speedup |" in pages["results.md"]


def _categories():
    from pitstop.records import CATEGORIES

    return CATEGORIES


def options_of(page: str) -> set[str]:
    return set(re.findall(r"`(--[a-z-]+)", page))


def test_every_option_is_in_the_reference_and_explained_to_people(pages):
    """How-to pages or the README say what an option is for; a table of all of them does not."""
    known = options_of(pages["commands.md"])
    assert {"--budget", "--json", "--resume", "--seed-option"} <= known
    assert options_of(pages["commands.zh.md"]) == known
    people = "".join(path.read_text("utf-8") for path in (ROOT / "README.md", *sorted((DOCS / "how-to").glob("*.md"))))
    assert sorted(name for name in known - UNEXPLAINED if not re.search(rf"{name}\b", people)) == []


def test_errors_are_there_with_their_exit_codes(pages):
    assert re.search(r"\| `cli.no_command` \| 2 \| no command to run", pages["errors.md"])
    assert all(f"| {code} |" in pages["errors.md"] for code in (0, 1, 2, 3, 4, 130))


def test_rules_and_treatments_without_a_page_are_named(reference, monkeypatch, tmp_path):
    assert reference.missing_pages() == []
    monkeypatch.setattr(reference, "HERE", tmp_path)
    assert f"docs/rules/{RULES[0].fault}.zh.md is missing" in " ".join(reference.missing_pages())


def test_every_link_leads_to_a_file(reference):
    made = {f"reference/{name}.md" for name in reference.PAGES}
    dead = []
    for path in DOCS.rglob("*.md"):
        if (DOCS / "reference") in path.parents:
            continue
        for target in LINK.findall(path.read_text("utf-8")):
            aim = (path.parent / target).resolve()
            known = aim.exists() or (aim.is_relative_to(DOCS) and str(aim.relative_to(DOCS)) in made)
            if not target.startswith(("http:", "https:", "mailto:")) and not known:
                dead.append(f"{path.relative_to(DOCS)}: {target}")
    assert dead == []


def test_the_pages_that_beginners_need_are_in_both_languages():
    wanted = [DOCS / "index.md", DOCS / "tutorial.md", DOCS / "glossary.md", *(DOCS / "how-to").glob("*.md")]
    english = [path for path in wanted if ".zh." not in path.name]
    assert len(english) >= 11
    assert [path.name for path in english if not path.with_suffix(".zh.md").exists()] == []
    assert LANGUAGES == ("en", "zh")


def test_what_the_navigation_names_exists(reference):
    made = {f"reference/{name}.md" for name in reference.PAGES}
    named = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert len(named) >= 20
    assert [name for name in named if name not in made and not (DOCS / name).exists()] == []
