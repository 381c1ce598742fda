"""Calls of slow functions: counted per line of the program's, after its first step, and not inside each other."""

from types import SimpleNamespace

import pytest

from pitstop.probe import call_log
from pitstop.probe.call_log import CallLog
from pitstop.probe.recorder import LOGGING


@pytest.fixture
def session():
    session = SimpleNamespace(written=[], events=[], faults=[])
    session.clock = SimpleNamespace(steps=1)
    session.recorder = SimpleNamespace(record=lambda *event: session.events.append(event))
    session.sightings = SimpleNamespace(write=lambda kind, **fields: session.written.append({"kind": kind, **fields}))
    session.fault = lambda where, error: session.faults.append((where, error))
    return session


@pytest.fixture
def owner():
    def inner():
        return "inner"

    owner = SimpleNamespace(inner=inner)
    owner.outer = lambda: owner.inner() + " of outer"
    return owner


def own(function, _category):
    return function


def watch(session, owner, **more):
    calls = CallLog(session)
    calls.watch((owner, "inner"), function="Owner.inner", own=own, **more)
    calls.watch((owner, "outer"), function="Owner.outer", own=own, **more)
    return calls


def test_calls_are_counted_by_the_line_that_makes_them(session, owner):
    calls = watch(session, owner, kind=LOGGING)
    for _ in range(3):
        owner.inner()
    owner.inner()
    session.clock.steps = 4
    calls.write()
    assert [(seen["function"], seen["calls"], seen["steps"]) for seen in session.written] == [
        ("Owner.inner", 3, 3),
        ("Owner.inner", 1, 3),
    ]
    lines = [seen["stack"][-1]["line"] for seen in session.written]
    assert lines[1] == lines[0] + 1
    assert all(seen["total_ns"] >= 0 for seen in session.written)
    assert [event[0] for event in session.events] == [LOGGING] * 4
    assert session.faults == []


def test_what_a_watched_call_calls_is_part_of_it(session, owner):
    calls = watch(session, owner)
    assert owner.outer() == "inner of outer"
    calls.write()
    assert [seen["function"] for seen in session.written] == ["Owner.outer"]


def test_what_happens_before_the_first_step_does_not_count(session, owner):
    calls = watch(session, owner)
    session.clock.steps = 0
    owner.inner()
    calls.write()
    assert session.written == []


def test_an_error_of_the_program_passes_and_is_counted(session, owner):
    def fails():
        raise KeyError("mine")

    owner.inner = fails
    calls = watch(session, owner)
    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            owner.inner()
    calls.write()
    assert session.written[0]["calls"] == 2


def test_every_name_of_a_function_is_watched_once(session, owner):
    owner.alias, original = owner.inner, owner.inner
    calls = CallLog(session)
    calls.watch((owner, "inner"), (owner, "alias"), function="Owner.inner", own=own)
    assert owner.inner is owner.alias is not original
    owner.alias()
    calls.write()
    assert session.written[0]["calls"] == 1


def test_places_are_bounded(session, owner, monkeypatch):
    monkeypatch.setattr(call_log, "MAX_PLACES", 1)
    calls = watch(session, owner)
    owner.inner()
    owner.inner()
    calls.write()
    assert len(session.written) == 1


def test_a_forked_child_begins_at_zero(session, owner):
    calls = watch(session, owner)
    owner.inner()
    calls.forget()
    calls.write()
    assert session.written == []
