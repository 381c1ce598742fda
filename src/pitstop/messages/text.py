"""Text that lives beside the one thing it belongs to: a treatment or rule carries its words in its own file."""

from typing import NamedTuple

from pitstop.messages.catalogue import language

__all__ = ["Text"]


class Text(NamedTuple):
    """The same words in every language of the catalogue; `str.format` fields are allowed."""

    en: str
    zh: str

    def say(self, *, lang: str | None = None, **values: object) -> str:
        """Return the words in `lang`, or in the chosen language, with `values` filled in."""
        text: str = getattr(self, lang or language())
        return text.format(**values)
