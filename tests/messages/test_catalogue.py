"""Choosing a language and saying a text in it."""

from collections.abc import Iterator

import pytest

from pitstop.messages import LANGUAGES, Text, choose_language, language, say


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    choose_language("en")
    yield
    choose_language("en")


@pytest.mark.parametrize("wanted", LANGUAGES)
def test_the_wanted_language_is_used_until_another_is_chosen(wanted: str) -> None:
    assert choose_language(wanted) == wanted
    assert language() == wanted
    assert say("report.layer.data") == {"en": "data", "zh": "数据层"}[wanted]


def test_one_text_can_be_asked_for_in_another_language() -> None:
    assert say("report.layer.data", lang="zh") == "数据层"
    assert language() == "en"


def test_an_unknown_language_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'fr' is not one of en, zh"):
        choose_language("fr")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "en_GB.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW"}, "zh"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_the_locale_decides_where_nothing_is_wanted(
    environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert choose_language() == expected


def test_a_missing_key_or_value_is_a_bug_and_raises() -> None:
    with pytest.raises(KeyError):
        say("report.nothing.here")
    with pytest.raises(KeyError):
        say("report.number.share")


def test_text_beside_its_treatment_follows_the_language() -> None:
    text = Text(en="{count} workers", zh="{count} 个工作进程")
    assert text.say(count=2) == "2 workers"
    choose_language("zh")
    assert text.say(count=2) == "2 个工作进程"
    assert text.say(lang="en", count=2) == "2 workers"
