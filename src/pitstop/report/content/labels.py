"""Names of the catalogue for the closed vocabularies of records (categories, verdicts, gates); others are shown as they are."""

from pitstop.messages import say
from pitstop.report.plain import plain


def label(group: str, name: str) -> str:
    """Return the reader's word for `name` of the vocabulary `group`, or `name` itself where the catalogue has none.

    Names may grow by a plug-in (a rule, a gate), which is why an unknown one is no error.
    """
    try:
        return say(f"report.{group}.{name}")
    except KeyError:
        return plain(name)
