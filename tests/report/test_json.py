"""JSON round trip, and refusal of what is not ours."""

import json

import msgspec
import pytest

from pitstop.errors import WrongUse
from pitstop.records.results import ProfileResult, TuneResult
from pitstop.report.json import from_json, to_json

from .samples import confirmed_tune, hostile_tune, photo_profile, photo_tune, stepless_profile, zero_tune


@pytest.mark.parametrize("build", [photo_profile, stepless_profile])
def test_a_profile_comes_back_equal(build) -> None:
    assert from_json(to_json(build()), kind=ProfileResult) == build()


@pytest.mark.parametrize("build", [photo_tune, confirmed_tune, zero_tune])
def test_a_tune_comes_back_equal(build) -> None:
    assert from_json(to_json(build()), kind=TuneResult) == build()


def test_what_json_cannot_hold_is_still_written_as_json_that_can_be_read() -> None:
    """NaN and infinite gate values, and bytes of undecodable file names."""
    data = to_json(hostile_tune())
    again = from_json(data, kind=TuneResult)
    assert again.prescription.equivalence[0].measured is None
    assert "\\udcff" in again.baseline.program.command[1]
    assert to_json(again) == data
    json.loads(data, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_an_unbounded_ceiling_comes_back_unbounded() -> None:
    finding = msgspec.structs.replace(photo_profile().findings[0], ceiling_speedup=float("inf"))
    profile = msgspec.structs.replace(photo_profile(), findings=(finding,))
    assert json.loads(to_json(profile))["findings"][0]["ceiling_speedup"] is None
    assert from_json(to_json(profile), kind=ProfileResult) == profile


def test_the_layout_is_the_one_that_others_rely_on() -> None:
    found = json.loads(to_json(photo_tune()))
    assert found["prescription"]["patched"]["ci"] == [2.1834, 2.4399]
    assert found["verdicts"][0]["treatments"] == ["bf16-autocast"]
    assert found["baseline"]["steps"]["p90_ns"] == 45_100_000
    assert sum(found["baseline"]["ledger"].values()) == pytest.approx(1.0)


def test_a_key_from_a_later_version_is_ignored() -> None:
    found = json.loads(to_json(photo_profile())) | {"invented_later": 1}
    assert from_json(json.dumps(found).encode(), kind=ProfileResult) == photo_profile()


def test_another_schema_number_is_refused_with_both_numbers() -> None:
    other = to_json(msgspec.structs.replace(photo_profile(), schema=99))
    with pytest.raises(WrongUse) as caught:
        from_json(other, kind=ProfileResult)
    assert (caught.value.key, caught.value.values) == ("report.json.schema", {"found": 99, "known": 1})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not json",
        b"[]",
        b'{"schema": "1"}',
        b'{"schema": 1}',
        b'{"schema": 1, "program"',
        b"\xff\xfe{}",
        b'{"schema": 1, "utilisation": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"schema": 1, "step_times_ns": [1e400]}',
        b'{"schema": 1, "program": "\xff"}',
    ],
)
def test_what_is_no_result_is_refused(data: bytes) -> None:
    with pytest.raises(WrongUse) as caught:
        from_json(data, kind=ProfileResult)
    assert caught.value.key == "report.json.unreadable"
    assert caught.value.values["error"]


def test_a_profile_is_not_taken_for_a_tune() -> None:
    with pytest.raises(WrongUse):
        from_json(to_json(photo_profile()), kind=TuneResult)
