"""The ledger: categories sum to the whole, whatever the order, scale and nesting of events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.diagnose.account import account
from pitstop.diagnose.steps import find_steps
from pitstop.records import CATEGORIES, Event, EventKind, Steps

MS = 1_000_000


def event(kind: EventKind, start_ms: float, end_ms: float, *, arg: int = 0, value: int = 0, flags: int = 0) -> Event:
    return Event(kind=kind, start_ns=round(start_ms * MS), end_ns=round(end_ms * MS), arg=arg, value=value, flags=flags)


def plain_loop(steps: int, *, with_evaluation: bool = False) -> list[Event]:
    """10 ms steps: 2 fetch, 0.5 gap, 3 forward, 1 loss, 2 backward, 1 optimizer, 0.5 gap."""
    events: list[Event] = [event(EventKind.LOADER_ITER, -1, 0, arg=1)]
    at = 0.0
    for number in range(steps):
        events += [
            event(EventKind.FETCH, at, at + 2, arg=1, value=8),
            event(EventKind.FORWARD, at + 2.5, at + 5.5, flags=3),
            event(EventKind.BACKWARD, at + 6.5, at + 8.5),
            event(EventKind.OPTIMIZER, at + 8.5, at + 9.5, arg=1),
        ]
        at += 10
        if with_evaluation and number % 4 == 3:
            events += [
                event(EventKind.LOADER_ITER, at, at + 1, arg=2),
                event(EventKind.FETCH, at + 1, at + 2, arg=2, value=8),
                event(EventKind.FORWARD, at + 2.5, at + 4, arg=1),
                event(EventKind.EPOCH_END, at + 4.5, at + 5, arg=2),
                event(EventKind.CHECKPOINT, at + 6, at + 8),
                event(EventKind.LOADER_ITER, at + 8, at + 9, arg=1),
            ]
            at += 10
    return events


def ledger_of(events: list[Event]):
    steps = find_steps(events)
    assert steps is not None
    return account(events, steps)


def test_a_plain_loop_is_split_as_it_was_made():
    ledger = ledger_of(plain_loop(20))
    assert ledger.share("data_wait") == pytest.approx(0.2)
    assert ledger.share("forward") == pytest.approx(0.4), "the loss between forward and backward belongs to forward"
    assert ledger.share("backward") == pytest.approx(0.2)
    assert ledger.share("optimizer") == pytest.approx(0.1)
    assert ledger.share("unknown") == pytest.approx(0.1)


def test_gaps_become_python_as_far_as_samples_name_frames():
    events = plain_loop(20)
    steps = find_steps(events)
    ledger = account(events, steps, named_gap_share=0.75)
    assert ledger.share("python") == pytest.approx(0.075)
    assert ledger.share("unknown") == pytest.approx(0.025)


def test_evaluation_and_checkpoints_are_told_from_training():
    ledger = ledger_of(plain_loop(40, with_evaluation=True))
    per_period_ms = 50.0
    assert ledger.share("evaluation") == pytest.approx(5 / per_period_ms, rel=0.1), (
        "gaps inside evaluation belong to it"
    )
    assert ledger.share("checkpoint") == pytest.approx(2 / per_period_ms, rel=0.1)
    assert ledger.share("data_wait") == pytest.approx((4 * 2 + 1) / per_period_ms, rel=0.1), (
        "the validation loader is not data wait"
    )


def test_evaluation_without_no_grad_is_evaluation_all_the_same():
    events = [
        Event(kind=e.kind, start_ns=e.start_ns, end_ns=e.end_ns, arg=e.arg, value=e.value, flags=3)
        if e.kind is EventKind.FORWARD
        else e
        for e in plain_loop(40, with_evaluation=True)
    ]
    assert ledger_of(events).share("evaluation") == pytest.approx(0.1, rel=0.1)


def with_teacher(flags: int, arg: int) -> list[Event]:
    """A plain loop whose gap before each forward holds another one without gradients."""
    return [
        part
        for e in plain_loop(20)
        for part in (
            [event(EventKind.FORWARD, e.start_ns / MS - 0.25, e.start_ns / MS, arg=arg, flags=flags), e]
            if e.kind is EventKind.FORWARD
            else [e]
        )
    ]


def test_a_forward_without_gradients_is_evaluation_only_of_a_model_that_trains_at_other_times():
    assert ledger_of(with_teacher(0, 0)).share("evaluation") == pytest.approx(0.025), "the trained model, after eval()"
    assert ledger_of(with_teacher(1, 0)).share("evaluation") == 0, "a policy that acts, a generator that feeds a critic"
    assert ledger_of(with_teacher(0, 7)).share("evaluation") == 0, "a teacher, a frozen backbone"


def test_garbage_collection_inside_a_forward_is_taken_out_of_it():
    events = plain_loop(20)
    plain = ledger_of(events)
    with_gc = ledger_of([*events, event(EventKind.GC, 103, 104)])
    assert with_gc.categories_ns["gc"] == MS
    assert plain.categories_ns["forward"] - with_gc.categories_ns["forward"] == MS


spans = st.lists(
    st.tuples(
        st.sampled_from([kind for kind in EventKind if kind is not EventKind.MARK]),
        st.integers(0, 10_000),
        st.integers(0, 3_000),
        st.integers(0, 2),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=60,
)


def events_from(raw) -> list[Event]:
    return [
        Event(kind=kind, start_ns=start, end_ns=start + length, arg=arg, flags=flags)
        for kind, start, length, arg, flags in raw
    ] + [Event(kind=EventKind.OPTIMIZER, start_ns=9_000 + 500 * i, end_ns=9_100 + 500 * i, arg=1) for i in range(10)]


@given(raw=spans, named=st.floats(0, 1), logs=st.floats(0, 1))
def test_categories_sum_to_the_whole_for_any_events(raw, named, logs):
    events = events_from(raw)
    steps = find_steps(events)
    assert steps is not None
    ledger = account(events, steps, gap_shares={"python": named, "logging": logs * (1 - named)})
    assert set(ledger.categories_ns) == set(CATEGORIES)
    assert sum(ledger.categories_ns.values()) == ledger.wall_ns
    assert all(value >= 0 for value in ledger.categories_ns.values())


@given(raw=spans, scale=st.integers(1, 50), shift=st.integers(-5_000, 5_000))
def test_scaling_and_shifting_the_clock_scales_the_ledger(raw, scale, shift):
    events = events_from(raw)
    moved = [
        Event(
            kind=e.kind,
            start_ns=scale * e.start_ns + shift,
            end_ns=scale * e.end_ns + shift,
            arg=scale * e.arg if e.kind is EventKind.DEVICE else e.arg,  # a duration there
            flags=e.flags,
        )
        for e in events
    ]
    one, other = ledger_of(events), ledger_of(moved)
    assert other.categories_ns == {name: scale * value for name, value in one.categories_ns.items()}


@given(raw=spans, data=st.data())
def test_the_order_in_which_events_arrive_does_not_matter(raw, data):
    # Events of one kind at the very same time are interchangeable only if they are equal: keep starts apart.
    events = [
        Event(kind=e.kind, start_ns=1000 * e.start_ns + i, end_ns=1000 * e.end_ns + i, arg=e.arg, flags=e.flags)
        for i, e in enumerate(events_from(raw))
    ]
    shuffled = data.draw(st.permutations(events))
    assert ledger_of(events) == ledger_of(shuffled)


def test_gaps_in_libraries_that_log_and_their_timed_calls_are_logging():
    events = plain_loop(20)
    steps = find_steps(events)
    assert steps is not None
    plain = account(events, steps)
    logs = account(events, steps, gap_shares={"python": 0.5, "logging": 0.25})
    gap = plain.categories_ns["unknown"]
    assert gap > 0
    assert logs.categories_ns["logging"] == pytest.approx(gap / 4, abs=1)
    assert logs.categories_ns["python"] == pytest.approx(gap / 2, abs=1)
    timed = Event(kind=EventKind.LOGGING, start_ns=steps.ends_ns[10] + 1, end_ns=steps.ends_ns[10] + 3)
    assert account([*events, timed], steps).categories_ns["logging"] == 2


def test_shares_of_more_than_the_gaps_are_refused():
    steps = Steps(clock="optimizer", start_ns=0, ends_ns=(1,), samples=(0,))
    with pytest.raises(ValueError, match="together"):
        account(plain_loop(10), steps, gap_shares={"sync": 0.75, "logging": 0.5})


def test_a_share_outside_zero_to_one_is_refused():
    with pytest.raises(ValueError, match=r"1\.5"):
        account(plain_loop(10), Steps(clock="optimizer", start_ns=0, ends_ns=(1,), samples=(0,)), named_gap_share=1.5)
