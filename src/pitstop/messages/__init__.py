"""One catalogue for every text that a person reads: `say("tune.no_steps", steps=3)`.

Keys are dotted; texts live in one TOML file per command or package in `en/` and `zh/`. No other module
holds text for users, except that a treatment or a rule carries its own as `Text`. Values are filled with `str.format`;
a missing key or value is a bug and raises.
"""

from pitstop.messages.catalogue import LANGUAGES, choose_language, language, say
from pitstop.messages.text import Text

__all__ = ["LANGUAGES", "Text", "choose_language", "language", "say"]
