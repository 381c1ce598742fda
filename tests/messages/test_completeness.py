"""Both languages say the same things, the source asks only for what is there, and nothing is there for nobody."""

import re
import string

import pytest

from pitstop.messages.catalogue import LANGUAGES, texts

from .sources import mentioned, said_keys, texts_beside_code

HAN = re.compile(r"[\u4e00-\u9fff]")
CODE = re.compile(r"`[^`]*`|\{[^}]*\}|\w+\([^()]*\)")
# "report.layer." and "tune.phase_" begin keys; "report." alone would excuse every key of its file.
BEGINNING = re.compile(r"[a-z_]+\.[\w.-]+")
# What a Chinese engineer writes in Latin letters too: names of things, units, options, statistics.
LATIN_IN_CHINESE = re.compile(
    r"\b(pitstop|python|pytorch|torch|gpu|cpu|cuda|p\d+|ms|ns|min|max|json|html|markdown|x|nan|inf|fp\d+|bf16|bfloat16|float\d+|dataloader|loader|"
    r"num_workers|persistent_workers|prefetch_factor|pin_memory)\b",
    re.IGNORECASE,
)


def fields(text: str) -> set[str]:
    return {name.split(".")[0].split("[")[0] for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def translatable(text: str) -> bool:
    """Whether there are words in it that a reader of Chinese expects in Chinese."""
    return bool(re.search(r"[A-Za-z]{2}", LATIN_IN_CHINESE.sub("", CODE.sub("", text))))


def test_both_languages_have_the_same_keys() -> None:
    assert texts("en").keys() ^ texts("zh").keys() == set()


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_text_is_empty_or_has_space_around_it(lang: str) -> None:
    assert [key for key, text in texts(lang).items() if not text.strip() or text != text.strip()] == []


def test_both_languages_fill_in_the_same_values() -> None:
    english, chinese = texts("en"), texts("zh")
    unlike = {
        key: (english[key], chinese[key])
        for key in english.keys() & chinese.keys()
        if fields(english[key]) != fields(chinese[key])
    }
    assert unlike == {}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_value_has_a_name(lang: str) -> None:
    assert [key for key, text in texts(lang).items() if any(not name or name.isdigit() for name in fields(text))] == []


def test_what_has_words_in_english_has_chinese_in_chinese() -> None:
    english, chinese = texts("en"), texts("zh")
    untranslated = [key for key, text in chinese.items() if translatable(english.get(key, "")) and not HAN.search(text)]
    assert untranslated == []


def test_no_chinese_in_the_english_texts() -> None:
    assert [key for key, text in texts("en").items() if HAN.search(text)] == []


def test_every_key_that_the_source_asks_for_exists() -> None:
    known = texts("en")
    assert [f"{use.where}: {use.key}" for use in said_keys() if use.key not in known] == []


def test_every_value_that_a_text_needs_is_given_where_it_is_said() -> None:
    known = texts("en")
    lacking = [
        f"{use.where}: {use.key} lacks {sorted(fields(known[use.key]) - use.values)}"
        for use in said_keys()
        if use.key in known and use.values is not None and not fields(known[use.key]) <= use.values
    ]
    assert lacking == []


def test_no_text_is_there_for_nobody() -> None:
    """Used: the whole key is somewhere in the source, or what a text that is put together begins with ("report.layer.")."""
    constants, beginnings = mentioned()
    used = tuple(beginning for beginning in beginnings if BEGINNING.fullmatch(beginning))
    unused = [
        key
        for key in texts("en")
        if key not in constants and not key.startswith(used) and not _by_its_end(key, constants)
    ]
    assert unused == []


def _by_its_end(key: str, constants: set[str]) -> bool:
    """A reason that is raised by its short name ("treat.no_loader" as CannotEdit("no_loader"))."""
    package, _, rest = key.partition(".")
    return rest in constants and package == "treat"


def test_texts_beside_code_are_complete_too() -> None:
    wrong = [
        pair.where
        for pair in texts_beside_code()
        if fields(pair.en) != fields(pair.zh)
        or not pair.en.strip()
        or (translatable(pair.en) and not HAN.search(pair.zh))
    ]
    assert wrong == []


def test_this_file_sees_the_source() -> None:
    """A reader that found nothing would pass every test above."""
    uses = list(said_keys())
    assert len(uses) > 100
    assert {use.key for use in uses} >= {"report.page.copy", "report.json.schema", "report.number.share"}
    assert any(
        use.key == "report.page.some_steps" and use.values == {"first", "last", "mean", "highest"} for use in uses
    )
    assert len(list(texts_beside_code())) >= 10
    assert {"report.layer.", "report.column.", "report.headline."} <= mentioned()[1]
