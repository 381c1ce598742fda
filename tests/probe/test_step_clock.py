"""The online step count: what ends a step, when to stop."""

import pytest

from pitstop.probe.recorder import BACKWARD, FETCH, FORWARD, OPTIMIZER, STEP
from pitstop.probe.step_clock import GRADIENT_CALL, StepClock


class Stopped(Exception):
    pass


def make(**options):
    def stop():
        raise Stopped

    def fault(_where, error):
        raise error

    return StepClock(on_stop=stop, on_fault=fault, **options)


def steps_until_stop(clock, cycle, limit=5000):
    """Tick through `cycle` again and again; return in which round the clock stopped."""
    for number in range(1, limit):
        for kind in cycle:
            try:
                clock.optimizer(kind[1]) if isinstance(kind, tuple) else clock.tick(kind)
            except Stopped:
                return number
    return None


FULL = [FETCH, FORWARD, BACKWARD, (OPTIMIZER, 1)]


@pytest.mark.parametrize(
    ("cycle", "expected"),
    [
        (FULL, 7),
        (
            [FETCH, FORWARD, BACKWARD, FORWARD, BACKWARD, (OPTIMIZER, 1), (OPTIMIZER, 2)],
            7,
        ),  # two optimizers: the first paces
        ([FETCH, FORWARD, FORWARD, FORWARD, STEP], 7),
        ([FETCH, FORWARD, BACKWARD], 16),  # no optimizer: certain only after some
        ([FETCH, FORWARD, GRADIENT_CALL], 16),
        ([FETCH, FORWARD, GRADIENT_CALL, GRADIENT_CALL, BACKWARD, (OPTIMIZER, 1)], 7),
        ([FETCH, FORWARD], 32),
        ([FETCH], 64),
    ],
)
def test_the_program_ends_after_the_steps_of_its_best_clock(cycle, expected):
    assert steps_until_stop(make(stop_after=7), cycle) == expected


def test_accumulation_counts_optimizer_steps_where_an_optimizer_was_made():
    clock = make(stop_after=2)
    clock.expect_optimizer()
    micro = [FETCH, FORWARD, BACKWARD] * 20
    assert steps_until_stop(clock, [*micro, (OPTIMIZER, 1)]) == 2


def test_an_evaluation_before_training_does_not_count():
    clock = make(stop_after=3)
    clock.expect_optimizer()
    for _ in range(200):
        clock.tick(FETCH)
        clock.tick(FORWARD)
    assert steps_until_stop(clock, FULL) == 3


def test_an_optimizer_that_never_steps_gives_way_in_the_end():
    clock = make(stop_after=3)
    clock.expect_optimizer()
    assert steps_until_stop(clock, [FETCH, FORWARD, BACKWARD]) == 256


def test_stopping_by_time_waits_for_the_least_number_of_steps(monkeypatch):
    now = [0]
    monkeypatch.setattr("pitstop.probe.step_clock.time.monotonic_ns", lambda: now[0])
    clock = make(stop_after_ns=1000, stop_min_steps=5)

    def run():
        while now[0] < 5000:
            now[0] += 10
            clock.optimizer(1)

    with pytest.raises(Stopped):
        run()
    assert now[0] == 10 + 1000  # counted from the end of the first step
    clock = make(stop_after_ns=0, stop_min_steps=5)
    assert steps_until_stop(clock, [(OPTIMIZER, 1)]) == 5


def test_callbacks_come_at_their_step_and_once():
    clock, calls = make(), []
    clock.after(3, lambda: calls.append(clock.steps))
    for _ in range(10):
        clock.optimizer(1)
    assert calls == [3]
    clock.after(2, lambda: calls.append(clock.steps))
    for _ in range(10):
        clock.tick(BACKWARD)
        clock.optimizer(1)
    assert calls == [3, 12]


def test_a_callback_asked_for_twice_comes_once():
    clock, calls = make(), []

    def callback():
        calls.append(clock.steps)

    clock.at_next_step(callback)
    clock.at_next_step(callback)
    for _ in range(3):
        clock.tick(BACKWARD)
    assert calls == [1]


def test_lower_clocks_are_outranked_once_a_higher_one_is_seen_or_expected():
    clock = make()
    assert not clock.is_outranked(FETCH)
    clock.tick(FORWARD)
    assert clock.is_outranked(FETCH)
    assert not clock.is_outranked(FORWARD)
    clock.expect_optimizer()
    assert clock.is_outranked(FORWARD)


def test_a_forked_child_begins_at_zero():
    clock = make()
    clock.optimizer(1)
    clock.reset()
    assert clock.steps == 0
    assert clock.leader is None


def test_what_is_due_stays_due_when_another_kind_takes_over():
    """Ten thousand batches are looked at before training begins; ten steps later means ten steps of the training."""
    called = []
    clock = StepClock(on_stop=None, on_fault=None)
    for _ in range(10_000):
        clock.tick(FETCH)
    clock.after(10, lambda: called.append(clock.steps))
    for _ in range(20):
        clock.tick(FETCH)
        clock.tick(OPTIMIZER)
    assert called == [10]


def test_what_another_thread_has_just_done_is_not_done_twice():
    """Two threads may reach the same step's work at once; the one that comes late finds it gone."""
    faults, done = [], []
    clock = StepClock(on_stop=None, on_fault=lambda where, error: faults.append(error))

    def first():
        done.append("first")
        clock._due.clear()  # as if another thread were here too

    clock.after(1, first)
    clock.after(1, lambda: done.append("second"))
    clock.tick(OPTIMIZER)
    assert (done, faults) == (["first"], [])


def test_a_successor_of_an_optimizer_that_is_gone_counts_on():
    """One optimizer per fold: the old one is collected when the name is bound to the new one."""
    clock = make()
    alive = {1}
    clock.is_alive = alive.__contains__
    for _ in range(10):
        clock.optimizer(1)
    alive.clear()
    alive.add(2)
    for _ in range(5):
        clock.optimizer(2)
    assert clock.steps == 15
    assert clock.leader == 2


def test_a_successor_of_an_optimizer_that_only_rests_counts_on_after_a_while():
    """Layers trained one after another, all optimizers alive: which of them lead is known after some hundred steps."""
    clock = make()
    for _ in range(10):
        clock.optimizer(1)
    for _ in range(300):
        clock.optimizer(2)
    assert clock.steps == 310


def test_an_optimizer_that_steps_more_often_than_the_leader_does_not_succeed_it():
    clock = make()
    for _ in range(10):
        clock.optimizer(1)
        for _ in range(15):
            clock.optimizer(2)
            clock.optimizer(3)
    assert clock.steps == 10
    assert clock.leader == 1


def test_what_is_due_happens_when_a_successor_takes_over():
    stopped = []
    clock = StepClock(on_stop=lambda: stopped.append(clock.steps), on_fault=None, stop_after=200)
    for _ in range(10):
        clock.optimizer(1)
    for _ in range(190):
        clock.optimizer(2)
    assert stopped == [200]
