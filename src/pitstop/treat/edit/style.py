"""How this file is written: the quote sign of its strings, so that what is added looks like the rest."""

from dataclasses import dataclass

import libcst as cst

from pitstop.treat.edit.parsed import ParsedSource

__all__ = ["Style"]


@dataclass(frozen=True, kw_only=True)
class Style:
    """What added code follows."""

    quote: str  # ' or "
    longest_line: int  # characters; what a one-line call may grow to

    @classmethod
    def of(cls, parsed: ParsedSource) -> "Style":
        """Read the style of a file. Double quotes where there is a draw; at least 88 columns."""
        quotes = [node.quote for node in parsed.nodes(cst.SimpleString)]
        single, double = quotes.count("'"), quotes.count('"')
        longest = max((len(line.rstrip("\r")) for line in parsed.lines), default=0)
        return cls(quote="'" if single > double else '"', longest_line=min(max(88, longest), 120))

    def string(self, text: str) -> str:
        """Return a plain word as a string literal."""
        if not text.isprintable() or set(text) & set("'\"\\"):
            raise ValueError(f"{text!r} is no plain word")
        return f"{self.quote}{text}{self.quote}"
