"""Loading and choosing of the message catalogue."""

import locale
import os
import tomllib
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from importlib import resources

LANGUAGES = ("en", "zh")

_chosen: ContextVar[str] = ContextVar("pitstop_language", default="en")


def choose_language(wanted: str | None = None) -> str:
    """Set the language of `say` from `wanted`, else from the locale; returns it.

    Raises ValueError if `wanted` is none of LANGUAGES.
    """
    if wanted is not None and wanted not in LANGUAGES:
        raise ValueError(f"language {wanted!r} is not one of {', '.join(LANGUAGES)}")
    chosen = wanted or _from_locale()
    _chosen.set(chosen)
    return chosen


def language() -> str:
    """Return the language that `say` uses now."""
    return _chosen.get()


def say(key: str, /, *, lang: str | None = None, **values: object) -> str:
    """Return the text of `key` with `values` filled in, in `lang` or the chosen language."""
    text = texts(lang or _chosen.get())[key]
    return text.format(**values)


@cache
def texts(lang: str) -> dict[str, str]:
    """Return the whole catalogue of one language, dotted key -> text."""
    found: dict[str, str] = {}
    folder = resources.files("pitstop.messages") / lang
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".toml"):
            prefix = entry.name.removesuffix(".toml")
            found.update(_flatten(tomllib.loads(entry.read_text("utf-8")), prefix))
    return found


def _flatten(table: dict[str, object], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        key = f"{prefix}.{name}"
        if isinstance(value, dict):
            yield from _flatten(value, key)
        elif isinstance(value, str):
            yield key, value
        else:
            raise TypeError(f"message {key} is {type(value).__name__}, not text")


def _from_locale() -> str:
    names = [os.environ.get(name, "") for name in ("LC_ALL", "LC_MESSAGES", "LANG")]
    name = next((value for value in names if value), locale.getlocale()[0] or "")
    return "zh" if name.lower().startswith("zh") else "en"
