"""Pauses of the probe: what was not seen is made up as what was, the sum stays exact, and what cannot be known stays unknown."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.diagnose.account import account
from pitstop.diagnose.pauses import find_pauses
from pitstop.diagnose.steps import find_steps
from pitstop.records import CATEGORIES, Event, EventKind, Ledger, Mark

MS = 1_000_000
STEP_MS = 10
DETAILS = (EventKind.FETCH, EventKind.FORWARD, EventKind.BACKWARD, EventKind.EPOCH_END)


def event(kind: EventKind, start_ms: float, end_ms: float, *, arg: int = 0, value: int = 0, flags: int = 0) -> Event:
    return Event(kind=kind, start_ns=round(start_ms * MS), end_ns=round(end_ms * MS), arg=arg, value=value, flags=flags)


def loop(steps: int, *, epoch: int = 1000, slow: frozenset[int] = frozenset()) -> list[Event]:
    """10 ms steps: 2 fetch, 0.5 gap, 3 forward, 1 loss, 2 backward, 1 optimizer, 0.5 gap; an epoch of `epoch` steps ends with 30 ms of evaluation.

    Steps in `slow` begin with 100 ms of which no event tells.
    """
    events = [event(EventKind.LOADER_ITER, -1, 0, arg=1)]
    at = 0.0
    for number in range(steps):
        at += 100 if number in slow else 0
        events += [
            event(EventKind.FETCH, at, at + 2, arg=1, value=8),
            event(EventKind.FORWARD, at + 2.5, at + 5.5, flags=3),
            event(EventKind.BACKWARD, at + 6.5, at + 8.5),
            event(EventKind.OPTIMIZER, at + 8.5, at + 9.5, arg=1),
        ]
        at += STEP_MS
        if number % epoch == epoch - 1:
            events += [
                event(EventKind.LOADER_ITER, at, at + 1, arg=2),
                event(EventKind.FETCH, at + 1, at + 2, arg=2, value=8),
                event(EventKind.FORWARD, at + 2, at + 30, flags=0),
                event(EventKind.LOADER_ITER, at + 30, at + 31, arg=1),
            ]
            at += 31
    return events


def paused(events: list[Event], *stretches: tuple[int, int]) -> list[Event]:
    """As the probe would have recorded them with pauses from the end of one step to the end of another (numbers of steps)."""
    ends = [event.end_ns for event in events if event.kind is EventKind.OPTIMIZER]
    pauses = [(ends[first] + 1, ends[last] + 1) for first, last in stretches]
    marks = [
        Event(kind=EventKind.MARK, start_ns=at, end_ns=at, arg=what)
        for pause in pauses
        for at, what in zip(pause, Mark, strict=True)
    ]
    kept = [
        Event(kind=one.kind, start_ns=one.end_ns, end_ns=one.end_ns, arg=one.arg)
        if one.kind is EventKind.OPTIMIZER and inside(one, pauses)
        else one
        for one in events
        if one.kind not in DETAILS or not inside(one, pauses)
    ]
    return [*kept, *marks]


def inside(event: Event, pauses: list[tuple[int, int]]) -> bool:
    return any(start <= event.start_ns and event.end_ns <= end for start, end in pauses)


def ledger_of(events: list[Event]) -> Ledger:
    steps = find_steps(events)
    assert steps is not None
    return account(events, steps, named_gap_share=0.5)


def test_pauses_change_neither_ledger_nor_samples_nor_micro_steps():
    events = loop(60)
    with_pauses = paused(events, (10, 30), (35, 55))
    whole, patchy = ledger_of(events), ledger_of(with_pauses)
    assert whole.wall_ns == patchy.wall_ns == sum(patchy.categories_ns.values())
    for category in CATEGORIES:
        assert patchy.share(category) == pytest.approx(whole.share(category), abs=0.005)
    before, after = find_steps(events), find_steps(with_pauses)
    assert before is not None
    assert after is not None
    assert (after.samples, after.micro_steps, after.ends_ns) == (before.samples, before.micro_steps, before.ends_ns)


def test_an_epoch_edge_is_not_spread_over_pauses():
    """Two evaluations among 60 steps, both seen in detail: they weigh what they took, not more."""
    events = loop(60, epoch=25)
    whole, patchy = ledger_of(events), ledger_of(paused(events, (5, 20), (30, 45)))
    for category in CATEGORIES:
        assert patchy.share(category) == pytest.approx(whole.share(category), abs=0.005)


def test_epochs_that_are_shorter_than_bursts_are_part_of_the_pauses():
    """An evaluation after every other step: nearly two thirds of the time, in pauses as elsewhere."""
    events = loop(160, epoch=2)
    whole, patchy = ledger_of(events), ledger_of(paused(events, (41, 75), (101, 135)))
    for category in CATEGORIES:
        assert patchy.share(category) == pytest.approx(whole.share(category), abs=0.02)


def test_a_long_step_in_a_pause_is_not_taken_for_more_training():
    events = loop(60, slow=frozenset({20}))
    patchy = ledger_of(paused(events, (10, 30)))
    assert patchy.categories_ns["unknown"] >= 90 * MS
    assert patchy.share("forward") == pytest.approx(ledger_of(events).share("forward"), abs=0.01)


def test_what_is_recorded_in_a_pause_too_is_not_taken_off_again():
    """A checkpoint and a long collection in a pause: their time is theirs, and the training around them stays training."""
    events = loop(60, slow=frozenset({15, 25}))
    extra = [event(EventKind.CHECKPOINT, 150, 250), event(EventKind.GC, 350, 450, arg=2)]
    ledger = ledger_of(paused([*events, *extra], (10, 30)))
    assert (ledger.categories_ns["checkpoint"], ledger.categories_ns["gc"]) == (100 * MS, 100 * MS)
    assert ledger.categories_ns["forward"] == pytest.approx(4 * 57 * MS, rel=0.02)
    assert ledger.categories_ns["unknown"] == pytest.approx(0.5 * 57 * MS, rel=0.05), "half of the plain gap, no more"


def test_marks_of_another_thread_count():
    """A thread that prefetches calls iter(loader), which ends the pause."""
    events = paused(loop(60), (10, 30))
    elsewhere = [msgspec.structs.replace(one, thread=1) if one.kind is EventKind.MARK else one for one in events]
    assert ledger_of(elsewhere) == ledger_of(events)
    assert find_steps(elsewhere) == find_steps(events)


def test_details_that_a_pause_holds_all_the_same_do_not_count_twice():
    """A forward that could not be left unwatched (Module.compile stores its wrapper in the instance)."""
    events = loop(60)
    half = paused(events, (10, 30))
    kept = [one for one in events if one.kind is EventKind.FORWARD and one not in half]
    assert kept
    assert ledger_of([*half, *kept]) == ledger_of(half)


def test_a_program_all_of_whose_steps_were_in_a_pause_has_no_micro_steps():
    steps = find_steps(paused(loop(20), (0, 19)))
    assert steps is not None
    assert steps.micro_steps == 1


def test_without_a_plain_step_a_pause_is_unknown():
    patchy = ledger_of(paused(loop(20), (2, 19)))
    assert patchy.categories_ns["unknown"] == patchy.wall_ns


def test_a_pause_that_never_ends_lasts_to_the_last_event():
    events = paused(loop(20), (5, 15))
    cut = [one for one in events if not (one.kind is EventKind.MARK and one.arg == Mark.RESUME)]
    ((start, end),) = find_pauses(sorted(cut, key=lambda one: one.end_ns))
    assert (start, end) == (5 * STEP_MS * MS + round(9.5 * MS) + 1, max(one.end_ns for one in cut))


@given(
    bounds=st.lists(st.integers(0, 39), min_size=2, max_size=6, unique=True).map(sorted),
    epoch=st.integers(3, 50),
)
def test_the_categories_sum_to_the_wall_time_whatever_is_paused(bounds, epoch):
    stretches = list(zip(bounds[::2], bounds[1::2], strict=False))
    ledger = ledger_of(paused(loop(40, epoch=epoch), *stretches))
    assert sum(ledger.categories_ns.values()) == ledger.wall_ns
    assert min(ledger.categories_ns.values()) >= 0
