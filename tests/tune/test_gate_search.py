"""The gate's runs and what they are come to, on simulated times."""

import math

import msgspec
import numpy as np
import pytest

from pitstop.records import Trial, TrialOutcome, VerdictKind
from pitstop.tune.gate_search import (
    BASE,
    FEWEST_PAIRS,
    HEAD,
    GateOptions,
    absorb,
    begin,
    judge,
    judge_memory,
    next_side,
    plan_looks,
)

MS = 1_000_000


def trial(side: str, step_ms: float, *, outcome: TrialOutcome = TrialOutcome.MEASURED, samples: int = 0) -> Trial:
    return Trial(
        proposals=(side,),
        outcome=outcome,
        window_ns=round(step_ms * MS * 100),
        window_steps=100,
        window_samples=samples,
        peak_bytes=1 << 30,
        wall_ns=5_000_000_000,
    )


def run(slowdown: float, *, sd: float, looks=(3, 6, 12), options: GateOptions | None = None, seed: int = 0):
    rng = np.random.default_rng(seed)
    options = options or GateOptions()
    state, order = begin(looks), []
    while (side := next_side(state)) is not None:
        order.append(side)
        step = 10.0 * (slowdown if side == HEAD else 1.0) * math.exp(rng.normal(0, sd))
        state = absorb(state, trial(side, step), options=options)
    return state, judge(state, options=options), order


def test_the_runs_go_by_turns_so_that_drift_cancels():
    _state, _found, order = run(1.0, sd=0.03, options=GateOptions(strict=True))
    assert order[:8] == [BASE, HEAD, HEAD, BASE, BASE, HEAD, HEAD, BASE]


def test_a_clear_slowdown_is_found_at_the_first_look():
    state, found, order = run(1.3, sd=0.005)
    assert found.kind is VerdictKind.SLOWER
    assert state.pairs == 3
    assert len(order) == 6
    assert found.ci[1] < 1 / 1.03


def test_what_is_the_same_is_shown_to_be_where_the_noise_allows():
    _state, found, _order = run(1.0, sd=0.004, options=GateOptions(strict=True))
    assert found.kind is VerdictKind.EQUIVALENT


def test_noise_wins_and_says_what_it_could_have_hidden():
    _state, found, _order = run(1.01, sd=0.1)
    assert found.kind is VerdictKind.UNDECIDED
    assert found.detectable > 1.1
    assert found.further_pairs is None or found.further_pairs > 0


def test_the_same_program_is_hardly_ever_called_slower():
    wrong = sum(run(1.0, sd=0.03, seed=seed)[1].kind is VerdictKind.SLOWER for seed in range(200))
    assert wrong <= 6, "at most 2.5 % and luck"


def test_a_busy_run_is_made_again_in_its_place():
    state = begin((3,))
    state = absorb(state, trial(BASE, 10), options=GateOptions())
    state = absorb(state, trial(HEAD, 99, outcome=TrialOutcome.BUSY), options=GateOptions())
    assert next_side(state) == HEAD
    assert state.invalid == 1
    state = absorb(state, trial(HEAD, 10), options=GateOptions())
    assert state.pairs == 1


def test_a_machine_that_stays_busy_ends_it_without_a_word_on_speed():
    state = begin((3,))
    for _ in range(5):
        state = absorb(state, trial(BASE, 10, outcome=TrialOutcome.BUSY), options=GateOptions(busy_repeats=3))
    assert next_side(state) is None
    assert judge(state, options=GateOptions()) is None


@pytest.mark.parametrize("outcome", [TrialOutcome.CRASHED, TrialOutcome.HUNG, TrialOutcome.OUT_OF_MEMORY])
def test_a_version_that_fails_ends_it(outcome):
    state = absorb(begin((3,)), trial(BASE, 10, outcome=outcome), options=GateOptions())
    assert state.failure.outcome is outcome
    assert next_side(state) is None


def test_another_batch_size_is_compared_by_sample():
    options, state = GateOptions(), begin((3,))
    for side in (BASE, HEAD, HEAD, BASE, BASE, HEAD):
        step, samples = (10.0, 800) if side == BASE else (19.0, 1600)
        state = absorb(state, trial(side, step * (1 + 0.0001 * len(state.half)), samples=samples), options=options)
    found = judge(state, options=options)
    assert found.kind is VerdictKind.FASTER
    assert found.speedup == pytest.approx(20 / 19, rel=1e-3)


def test_looks_are_planned_from_time_alone():
    assert plan_looks(left_ns=2.9, pair_ns=1.0) is None
    assert plan_looks(left_ns=3.0, pair_ns=1.0) == (FEWEST_PAIRS,)
    looks = plan_looks(left_ns=100.0, pair_ns=1.0)
    assert looks[-1] == 24
    assert list(looks) == sorted(set(looks))


def test_memory_above_its_margin_with_certainty_is_worse_and_unknown_memory_is_no_claim():
    grown = judge_memory((100, 101, 100), (130, 131, 129), margin=0.1)
    assert grown.worse
    assert grown.ratio == pytest.approx(1.296, rel=1e-2)
    assert not judge_memory((100, 101, 100), (104, 105, 104), margin=0.1).worse
    assert judge_memory((100, None, 100), (130, 131, 129), margin=0.1) is None


def test_the_time_that_is_over_allows_a_last_look_at_what_is_there():
    state = begin((3, 12))
    for side in (BASE, HEAD, HEAD, BASE, BASE, HEAD, HEAD, BASE):
        state = absorb(state, trial(side, 10.0 if side == BASE else 10.05), options=GateOptions(strict=True))
    assert state.pairs == 4
    found = judge(msgspec.structs.replace(state, over=True), options=GateOptions())
    assert found.pairs == 4
