"""Names of the catalogue for the closed vocabularies of records (categories, verdicts, gates); others are shown as they are."""

from pitstop.messages import say
from pitstop.report.plain import plain


def label(group: str, name: str) -> str:
    """Return the reader's word for `name` of our vocabulary `group`, or `name` itself where the catalogue has none.

    Names may grow by a plug-in (a rule, a gate), which is why an unknown one is no error.
    """
    return _known(f"report.{group}.{name}") or plain(name)


def gate_label(name: str) -> str:
    """Return the reader's word for a numerics check; the checks name themselves in their own file of the catalogue."""
    return _known(f"gates.name.{name}") or plain(name)


def _known(key: str) -> str | None:
    try:
        return say(key)
    except KeyError:
        return None
