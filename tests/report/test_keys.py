"""The keys of results are a promise: `docs/result-keys.txt` may grow by a deliberate edit and never shrinks."""

import json
from pathlib import Path

from pitstop.report.json import to_json
from pitstop.report.keys import result_keys

from .samples import confirmed_tune, photo_profile

LISTED = Path(__file__).parents[2] / "docs" / "result-keys.txt"
REFRESH = (
    'python -c "from pitstop.report.keys import result_keys; print(*result_keys(), sep=chr(10))" > docs/result-keys.txt'
)


def test_no_promised_key_is_gone() -> None:
    assert sorted(set(LISTED.read_text().split()) - set(result_keys())) == []


def test_a_new_key_is_listed() -> None:
    assert sorted(set(result_keys()) - set(LISTED.read_text().split())) == [], REFRESH


def test_the_walk_finds_what_is_really_written() -> None:
    """Every path in real JSON is among the keys, so that the list is not blind to some kind of field."""
    known = set(result_keys())
    assert _paths("profile", json.loads(to_json(photo_profile()))) <= known
    assert _paths("tune", json.loads(to_json(confirmed_tune()))) <= known
    assert {"tune.prescription.patched.ci[]", "tune.confirm.metric_name", "profile.ledger.data_wait"} <= known


def _paths(path: str, value: object) -> set[str]:
    if path.endswith(("utilisation", "prescription.env", "explanations", "cannot_apply")):
        return {path + "{}"}
    if isinstance(value, dict):
        return set().union(*(_paths(f"{path}.{name}", item) for name, item in value.items()))
    if isinstance(value, list):
        return set().union(*(_paths(f"{path}[]", item) for item in value))
    return {path} if value is not None else set()
