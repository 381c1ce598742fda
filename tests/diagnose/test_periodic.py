"""Work that comes back is found with its period and cost; noise is not."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.diagnose.periodic import find_periodic
from pitstop.diagnose.steps import find_steps
from pitstop.records import Event, EventKind

MS = 1_000_000


def loop(steps: int, extra) -> list[Event]:
    """10 ms steps (2 fetch, 6 compute); `extra(number)`: (kind or None for a gap, ms) after each."""
    events: list[Event] = []
    at = 0.0

    def add(kind: EventKind, ms: float, **fields: int) -> None:
        nonlocal at
        events.append(Event(kind=kind, start_ns=round(at * MS), end_ns=round((at + ms) * MS), **fields))
        at += ms

    for number in range(steps):
        add(EventKind.FETCH, 2, arg=1, value=8)
        add(EventKind.FORWARD, 3, flags=3)
        add(EventKind.BACKWARD, 3)
        for kind, ms in extra(number):
            if kind is None:
                at += ms
            else:
                add(kind, ms)
        add(EventKind.OPTIMIZER, 2, arg=1)
    return events


def found(steps: int, extra, samples=()):
    events = loop(steps, extra)
    steps_found = find_steps(events)
    assert steps_found is not None
    return find_periodic(events, steps_found, stack_samples=samples)


@settings(deadline=None, max_examples=30)
@given(every=st.integers(3, 20), offset=st.integers(0, 19))
def test_a_checkpoint_every_n_steps_is_found_with_its_time(every, offset):
    (work,) = found(
        200, lambda number: [(EventKind.CHECKPOINT, 30)] if number % every == offset % every and number >= 3 else []
    )
    assert (work.category, work.every, work.extra_ns) == ("checkpoint", every, 30 * MS)
    assert work.share == pytest.approx(work.times * 30 / (197 * 10 + work.times * 30), rel=0.01)


def test_several_periods_are_told_apart_by_what_they_are():
    def extra(number):
        return [(EventKind.LOGGING, 5)] * (number % 10 == 9) + [(EventKind.CHECKPOINT, 80)] * (number % 50 == 49)

    samples = (
        ("logging|/home/me/train.py:9 main", 5),
        ("checkpoint|/home/me/save.py:3 save > torch/serialization.py save", 4),
    )
    works = {work.category: work for work in found(300, extra, samples)}
    assert {category: work.every for category, work in works.items()} == {"logging": 10, "checkpoint": 50}
    assert (works["logging"].where, works["checkpoint"].where) == ("/home/me/train.py:9", "/home/me/save.py:3")


def test_something_without_a_name_is_found_if_it_is_regular():
    (work,) = found(100, lambda number: [(None, 20)] if number % 7 == 0 else [])
    assert (work.category, work.every) == ("unknown", 7)


@pytest.mark.parametrize(
    "extra",
    [
        lambda _number: [],
        lambda _number: [(EventKind.CHECKPOINT, 30)],  # in every step: no period
        lambda number: [(EventKind.CHECKPOINT, 30)] if number in {20, 70} else [],  # twice is no rhythm
        lambda number: [(EventKind.LOGGING, 0.5)] if number % 10 == 0 else [],  # too small to see
    ],
)
def test_what_has_no_period_or_no_cost_is_none(extra):
    assert found(100, extra) == ()


def test_noise_is_none():
    chance = random.Random(3)  # noqa: S311 - a fixed sequence
    assert found(500, lambda _number: [(None, 20)] if chance.random() < 0.1 else []) == ()


def test_a_run_of_a_few_steps_has_no_periods():
    assert found(6, lambda number: [(EventKind.CHECKPOINT, 30)] if number % 2 else []) == ()
