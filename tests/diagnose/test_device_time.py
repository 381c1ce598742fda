"""The device's work laid over the host's clock, and the ledger that comes of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.diagnose.account import account, host_spans_of, median_by_step, spans_of
from pitstop.diagnose.device_time import busy_share, device_work, outside
from pitstop.diagnose.steps import find_steps
from pitstop.records import Event, EventKind

MS = 1_000_000
DEVICE_ZERO_MS = 777.0  # when the device's first event was, on the host's clock


def host(kind: EventKind, start_ms: float, end_ms: float, **more: int) -> Event:
    return Event(kind=kind, start_ns=round(start_ms * MS), end_ns=round(end_ms * MS), **more)


def device(call: Event, start_ms: float, end_ms: float) -> Event:
    """What the probe records of a call that the device worked on from `start_ms` to `end_ms` of the host's clock."""
    return Event(
        kind=EventKind.DEVICE,
        start_ns=call.start_ns,
        end_ns=call.end_ns,
        flags=int(call.kind),
        arg=round((end_ms - start_ms) * MS / 100),
        value=round((start_ms - DEVICE_ZERO_MS) * MS),
    )


def asynchronous(steps: int) -> list[Event]:
    """20 ms steps: the host launches everything within 4 ms and waits for the loss; the device works 2 to 14, is read at 14, idles to 20."""
    events: list[Event] = [host(EventKind.LOADER_ITER, 999, 1000, arg=1)]
    for number in range(steps):
        at = 1000.0 + 20 * number
        forward = host(EventKind.FORWARD, at + 2, at + 3, flags=3)
        backward = host(EventKind.BACKWARD, at + 3, at + 3.5)
        update = host(EventKind.OPTIMIZER, at + 3.5, at + 4, arg=1)
        events += [
            host(EventKind.FETCH, at, at + 2, arg=1, value=8),
            forward,
            backward,
            update,
            host(EventKind.SYNC, at + 4, at + 14),
            device(forward, at + 2, at + 6),
            device(backward, at + 7, at + 13),
            device(update, at + 13, at + 14),
        ]
    return events


def test_the_device_decides_while_it_works_and_the_host_alone_is_kept_beside():
    events = asynchronous(30)
    steps = find_steps(events)
    assert steps is not None
    ledger = account(events, steps)
    assert ledger.share("forward") == pytest.approx(5 / 20), (
        "with the loss, from the forward's end to the backward's start"
    )
    assert ledger.share("backward") == pytest.approx(6 / 20)
    assert ledger.share("optimizer") == pytest.approx(1 / 20)
    assert ledger.share("sync") == 0, "the host waits while the device works: nothing is lost there"
    assert ledger.share("data_wait") == pytest.approx(2 / 20)
    alone = account(events, steps, spans=host_spans_of(events, steps))
    assert alone.share("sync") == pytest.approx(10 / 20)
    assert alone.share("backward") == pytest.approx(0.5 / 20)


def test_waiting_for_a_device_that_has_nothing_of_the_loop_to_do_stays_sync():
    events = [
        event for event in asynchronous(30) if event.kind is not EventKind.DEVICE or event.flags != EventKind.BACKWARD
    ]
    steps = find_steps(events)
    assert account(events, steps).share("sync") == pytest.approx(7 / 20)


def test_work_without_a_device_is_as_before():
    events = [event for event in asynchronous(10) if event.kind is not EventKind.DEVICE]
    steps = find_steps(events)
    assert device_work(events) == []
    assert spans_of(events, steps) == host_spans_of(events, steps)


def test_clocks_are_laid_over_each_other_by_the_moments_at_which_the_device_was_idle():
    work = device_work(asynchronous(10))
    assert work[0].start_ns == 1002 * MS, "its forward waited for nothing, whatever the device counts from"
    assert [one.kind for one in work[:3]] == [EventKind.FORWARD, EventKind.BACKWARD, EventKind.OPTIMIZER]


def test_clocks_that_drift_apart_are_followed():
    parts_per_million = 50
    events = [
        Event(
            kind=one.kind,
            start_ns=one.start_ns,
            end_ns=one.end_ns,
            flags=one.flags,
            arg=one.arg,
            value=round(one.value * (1 + parts_per_million / 1e6)),
        )
        for one in asynchronous(10_000)  # 200 s, at whose end the clocks are 10 ms apart
        if one.kind is EventKind.DEVICE
    ]
    last = device_work(events)[-3]
    true_ns = (1000 + 20 * 9_999 + 2) * MS
    assert abs(last.start_ns - true_ns) < 1.5 * MS


def test_how_busy_the_device_is_counts_each_instant_once():
    events = asynchronous(10)
    steps = find_steps(events)
    assert busy_share(device_work(events), steps.stretches[3:]) == pytest.approx(11 / 20)
    assert busy_share([], []) is None


def test_medians_per_category_are_those_of_single_steps():
    events = asynchronous(30)
    events += [host(EventKind.CHECKPOINT, 1000 + 20 * 20 + 15, 1000 + 20 * 20 + 19)]
    steps = find_steps(events)
    medians = median_by_step(spans_of(events, steps), events, steps)
    assert medians["backward"] == 6 * MS
    assert medians["checkpoint"] == 0, "one step in thirty saves"


stretches = st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 50)), max_size=20).map(
    lambda pairs: [
        (start, end) for (start, length), end in ((pair, pair[0] + pair[1]) for pair in sorted(pairs)) if length
    ]
)


def disjoint(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for start, end in pairs:
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


@given(stretches, stretches)
def test_what_lies_outside_is_every_instant_of_the_one_that_is_in_none_of_the_other(one, other):
    one, other = disjoint(one), disjoint(other)
    left = {at for start, end, _index in outside(one, other) for at in range(start, end)}
    assert left == {at for start, end in one for at in range(start, end)} - {
        at for start, end in other for at in range(start, end)
    }
    assert all(one[index][0] <= start < end <= one[index][1] for start, end, index in outside(one, other))
