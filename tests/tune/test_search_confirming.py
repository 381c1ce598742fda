import math

import pytest

from pitstop.records import Trial, TrialOutcome, VerdictKind
from pitstop.tune.search_actions import SearchOptions
from pitstop.tune.search_confirming import Confirming, Finalist, absorb, conclude, next_run, winner

OPTIONS = SearchOptions()


def phase(*names: str, looks=(4, 8)) -> Confirming:
    return Confirming(finalists=tuple(Finalist(key=(name,)) for name in names), looks=looks)


def run(
    state: Confirming, costs: dict[str, float], *, wobble: float = 0.01, stop_after: int = 10_000
) -> tuple[Confirming, list]:
    """Feed runs of the given costs, wobbling up and down so that there is some spread."""
    order = []
    while (key := next_run(state)) is not None and len(order) < stop_after:
        cost = costs.get(key[0] if key else "", 1.0) * (1 + wobble * math.cos(2.4 * len(order)))
        order.append(key)
        state = absorb(state, trial(key, cost), options=OPTIONS)
    return state, order


def trial(key, cost: float = 1.0, outcome=TrialOutcome.MEASURED) -> Trial:
    return Trial(proposals=key, outcome=outcome, window_ns=round(cost * 1e9), window_steps=100)


def test_two_finalists_share_each_baseline():
    state, order = run(phase("a", "b"), {"a": 0.5, "b": 0.8})
    assert order[:6] == [(), ("a",), ("b",), ("b",), ("a",), ()]
    assert winner(state).key == ("a",)
    assert state.pairs == 4


def test_what_looks_slower_than_a_confirmed_one_is_not_run_on():
    state, order = run(phase("a", "b"), {"a": 0.5, "b": 0.97})
    assert state.pairs == 4
    assert len(order) == 12


def test_a_slower_finalist_leaves_and_the_other_goes_on():
    state, order = run(phase("slow", "maybe"), {"slow": 2.0, "maybe": 0.955}, wobble=0.03)
    slow = state.finalists[0]
    assert slow.decision.kind is VerdictKind.SLOWER
    assert len(slow.ratios) == 4
    assert order.count(("slow",)) == 4
    assert order.count(("maybe",)) > 4


def test_a_busy_run_is_repeated_in_its_place():
    state = phase("a")
    state = absorb(state, trial(()), options=OPTIONS)
    assert next_run(state) == ("a",)
    again = absorb(state, trial(("a",), outcome=TrialOutcome.BUSY), options=OPTIONS)
    assert next_run(again) == ("a",)
    assert again.half == state.half


def test_a_machine_that_stays_busy_ends_it_without_a_claim():
    state = phase("a")
    for _ in range(OPTIONS.busy_repeats + 1):
        assert next_run(state) == ()
        state = absorb(state, trial((), outcome=TrialOutcome.BUSY), options=OPTIONS)
    assert next_run(state) is None
    assert winner(conclude(state, options=OPTIONS)) is None


def test_a_finalist_that_crashes_now_is_out_and_the_half_block_goes_on_without_it():
    state = phase("a", "b")
    state = absorb(state, trial(()), options=OPTIONS)
    state = absorb(state, trial(("a",), outcome=TrialOutcome.CRASHED), options=OPTIONS)
    assert next_run(state) == ("b",)
    state = absorb(state, trial(("b",), 0.5), options=OPTIONS)
    assert state.pairs == 1
    state, _ = run(state, {"b": 0.5})
    assert winner(state).key == ("b",)
    assert state.finalists[0].failure.outcome is TrialOutcome.CRASHED


def test_the_last_finalist_that_crashes_ends_it():
    state = absorb(phase("a"), trial(()), options=OPTIONS)
    state = absorb(state, trial(("a",), outcome=TrialOutcome.CRASHED), options=OPTIONS)
    assert next_run(state) is None
    assert winner(state) is None


def test_ending_early_still_looks_at_what_there_is():
    state, _ = run(phase("a", looks=(8, 16)), {"a": 0.5}, stop_after=8)
    assert state.pairs == 4
    assert state.finalists[0].decision is None
    ended = conclude(state, options=OPTIONS)
    assert ended.finalists[0].decision.kind is VerdictKind.FASTER
    assert next_run(ended) is None


def test_ending_with_two_pairs_says_nothing():
    state, _ = run(phase("a"), {"a": 0.5}, stop_after=4)
    assert conclude(state, options=OPTIONS).finalists[0].decision is None


def test_ending_at_a_look_does_not_look_twice():
    state, _ = run(phase("a", looks=(4, 8, 16)), {"a": 0.93}, wobble=0.06, stop_after=8)
    assert state.finalists[0].decision is not None
    assert conclude(state, options=OPTIONS).finalists[0].decision == state.finalists[0].decision


def test_hopeless_finalists_are_not_run_to_the_last_look():
    state, order = run(phase("a", looks=(4, 8, 12, 16)), {"a": 1.015}, wobble=0.02)
    assert winner(state) is None
    assert len(order) < 32


def test_a_trial_nobody_asked_for_changes_nothing():
    state = phase("a")
    assert absorb(state, trial(("a",)), options=OPTIONS) == state


@pytest.mark.parametrize("margin", [0.0, 0.02, 0.1])
def test_the_margin_is_the_options(margin):
    options = SearchOptions(margin=margin)
    state = phase("a")
    index = 0
    while (key := next_run(state)) is not None:
        cost = (1 / 1.06 if key else 1.0) * (1 + 0.002 * math.cos(index))
        state = absorb(state, trial(key, cost), options=options)
        index += 1
    assert (winner(state) is not None) is (margin < 0.06)
