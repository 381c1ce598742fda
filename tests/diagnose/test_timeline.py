"""The ledger over time: stretches cover all steps, each sums to one, and what was not looked at has no shares."""

import itertools
from collections import Counter

import pytest

from pitstop.diagnose.account import account, account_by_step, spans_of
from pitstop.diagnose.periodic import find_periodic
from pitstop.diagnose.steps import find_steps
from pitstop.diagnose.timeline import MOST_STRETCHES, ledger_timeline
from pitstop.records import Event, EventKind, Mark

MS = 1_000_000


def loop(steps: int, *, slow_from: int) -> list[Event]:
    """Steps of 10 ms: 5 waiting, 3 backward, 1 optimizer, 1 of nothing; from `slow_from` on they wait 25."""
    events, at = [], 0
    for number in range(steps):
        wait = 25 * MS if number >= slow_from else 5 * MS
        events += [
            Event(kind=EventKind.FETCH, start_ns=at, end_ns=at + wait, arg=1, value=8),
            Event(kind=EventKind.BACKWARD, start_ns=at + wait, end_ns=at + wait + 3 * MS),
            Event(kind=EventKind.OPTIMIZER, start_ns=at + wait + 4 * MS, end_ns=at + wait + 5 * MS, arg=1),
        ]
        at += wait + 5 * MS
    return events


@pytest.mark.parametrize("count", [1, 7, 60, 61, 400])
def test_stretches_follow_each_other_and_cover_all_steps(count: int) -> None:
    events = loop(count, slow_from=count)
    stretches = ledger_timeline(events, find_steps(events))
    assert len(stretches) <= MOST_STRETCHES
    assert (stretches[0].first_step, stretches[-1].last_step) == (1, count)
    for before, after in itertools.pairwise(stretches):
        assert after.first_step == before.last_step + 1
    assert all(sum(stretch.shares.values()) == pytest.approx(1, abs=0.001) for stretch in stretches)


def test_a_change_during_the_run_is_seen() -> None:
    events = loop(60, slow_from=30)
    stretches = ledger_timeline(events, find_steps(events), gap_shares={"python": 0.5, "logging": 0.25})
    assert stretches[0].shares == pytest.approx(
        {"data_wait": 0.5, "backward": 0.3, "optimizer": 0.1, "python": 0.05, "logging": 0.025, "unknown": 0.025}
    )
    assert stretches[-1].shares["data_wait"] == pytest.approx(25 / 30, abs=0.001)


def test_what_lies_in_a_pause_has_no_shares_and_the_rest_keeps_its_own() -> None:
    events = loop(60, slow_from=60)
    inside = [event for event in events if not 100 * MS <= event.start_ns < 300 * MS]
    ends = [event for event in events if event.kind is EventKind.OPTIMIZER and 100 * MS <= event.start_ns < 300 * MS]
    marks = [
        Event(kind=EventKind.MARK, start_ns=at * MS, end_ns=at * MS, arg=mark)
        for at, mark in ((100, Mark.PAUSE), (305, Mark.RESUME))
    ]
    stretches = ledger_timeline([*inside, *ends, *marks], find_steps(events))
    by_step = {stretch.first_step: stretch.shares for stretch in stretches}
    assert by_step[5]["data_wait"] == pytest.approx(0.5)
    assert by_step[15] == {}
    assert by_step[40]["data_wait"] == pytest.approx(0.5)


@pytest.mark.parametrize("with_evaluation", [False, True])
def test_spans_that_are_made_once_and_handed_on_change_nothing(with_evaluation: bool) -> None:
    events = loop(90, slow_from=50)
    if with_evaluation:
        events += [
            Event(kind=EventKind.FORWARD, start_ns=at * MS - 500_000, end_ns=at * MS - 100_000, flags=1)
            for at in range(100, 500, 100)
        ]
    steps = find_steps(events)
    spans = spans_of(events, steps)
    assert account(events, steps, spans=spans) == account(events, steps)
    assert ledger_timeline(events, steps, spans=spans) == ledger_timeline(events, steps)
    assert find_periodic(events, steps, spans=spans) == find_periodic(events, steps)
    by_step = account_by_step(spans, steps)
    whole = sum(by_step, Counter())
    assert {name: ns for name, ns in account(events, steps).categories_ns.items() if ns} == dict(whole)
