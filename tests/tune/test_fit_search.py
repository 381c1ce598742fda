"""The search for a batch on simulated programs: what it tries, what it chooses, and that it always ends."""

import random

import msgspec
import pytest

from pitstop.records import VerdictKind
from pitstop.tune.fit_search import (
    HEADROOM,
    Done,
    Fit,
    FitOptions,
    Tried,
    candidates,
    ladder,
    largest_fitting,
    next_try,
)

LIMIT = 1000
SECOND = 10**9


class Program:
    """Memory a + b * batch and time (c + d * batch) / batch per sample, with noise, a knee, and sizes that fail anyhow."""

    def __init__(self, *, memory=(100, 10), time=(1000.0, 10.0), noise=0.0, seed=0, knee=None, fails=(), limit=LIMIT):
        self.memory, self.time, self.noise, self.knee, self.fails, self.limit = memory, time, noise, knee, fails, limit
        self.random = random.Random(seed)  # noqa: S311
        self.asked = []

    def run(self, action):
        self.asked.append(action)
        peak = round(self.memory[0] + self.memory[1] * action.batch)
        limit = float("inf") if action.lifted else self.limit
        common = {"batch": action.batch, "phase": action.phase, "lifted": action.lifted, "wall_ns": 10 * SECOND}
        if action.batch in self.fails:
            return Tried(outcome=Fit.FAILED, **common)
        if peak > limit:
            return Tried(outcome=Fit.OUT_OF_MEMORY, **common)
        cost = self.time[0] / action.batch + self.time[1]
        if self.knee is not None and action.batch > self.knee:
            cost *= 1.5  # beyond the cache
        cost *= self.random.lognormvariate(0, self.noise)
        tight = peak > HEADROOM * limit
        return Tried(outcome=Fit.TIGHT if tight else Fit.FITS, peak_bytes=peak, ns_per_sample=cost, **common)


def search(program, *, own=128, budget_s=10_000, reference=True):
    options = FitOptions(sizes=ladder(own), own=own, budget_ns=budget_s * SECOND, reference=reference)
    tried = []
    for _ in range(200):
        action = next_try(tried, options)
        if isinstance(action, Done):
            return action, tuple(tried), options
        tried.append(program.run(action))
    raise AssertionError("the search does not end")


def test_the_ladder_is_what_accumulation_can_make_whole_again():
    assert ladder(12) == (1, 2, 3, 4, 6, 12)


def test_a_batch_that_dies_is_halved_until_it_fits_and_refined_between():
    program = Program(memory=(100, 10))
    done, tried, _ = search(program, own=96)  # 96 needs 1060; 48 needs 580; between them there is no divisor
    assert [one.batch for one in program.asked[:2]] == [96, 48]
    assert largest_fitting(tried) == 48
    assert done.batch == 48
    finer = Program(memory=(100, 5))
    _, tried, _ = search(finer, own=180)  # 180 needs 1000, which is tight; 90, 60 fit
    assert tried[0].outcome is Fit.TIGHT
    assert largest_fitting(tried) == 90


def test_the_fastest_is_chosen_and_not_the_largest():
    done, _, _ = search(Program(time=(10.0, 10.0), knee=16, noise=0.01))
    assert done.batch == 16


def test_larger_is_chosen_where_each_call_costs_much():
    done, _, _ = search(Program(time=(1000.0, 1.0), noise=0.01))
    assert done.batch == 64


def test_among_equals_the_one_that_needs_less_memory_is_chosen():
    done, _, _ = search(Program(time=(0.0, 10.0), noise=0.002))
    assert done.decision is not None
    assert done.decision.kind is VerdictKind.EQUIVALENT
    assert done.rival is not None
    assert done.batch < done.rival


def test_a_peak_near_the_limit_is_not_safe():
    program = Program(memory=(0, 7.5))  # 128 needs 960 of 1000
    done, tried, _ = search(program)
    assert tried[0].outcome is Fit.TIGHT
    assert done.batch == 64
    assert not done.tight


def test_what_is_only_ever_tight_is_handed_over_with_a_warning():
    done, _, _ = search(Program(memory=(950, 0.1)), own=4)
    assert done.batch == 1
    assert done.tight


def test_nothing_that_fits_is_said():
    done, tried, _ = search(Program(memory=(2000, 1)), own=8)
    assert done.batch is None
    assert [one.batch for one in tried] == [8, 4, 2, 1]


def test_memory_that_does_not_rise_with_the_batch_is_decided_by_trials_alone():
    class Holes(Program):
        def run(self, action):
            self.fails = (64, 16)
            return super().run(action)

    done, tried, options = search(Holes(limit=1300, memory=(100, 10)))
    assert done.batch not in (16, 64, None)
    assert set(candidates(tried, options)).isdisjoint({16, 64})


def test_a_candidate_that_fails_while_it_is_timed_is_out():
    class Later(Program):
        def run(self, action):
            self.fails = (64,) if action.phase == "timing" else ()
            return super().run(action)

    done, _, _ = search(Later(time=(1000.0, 1.0)))
    assert done.batch == 32


def test_the_own_batch_is_compared_without_the_limit_where_it_does_not_fit():
    done, tried, _ = search(Program(memory=(100, 10), time=(1000.0, 10.0), noise=0.005))
    assert done.own_lifted
    assert done.against_own is not None
    assert done.against_own.speedup < 1  # memory costs time here
    assert sum(one.lifted for one in tried) == done.against_own.pairs


def test_without_a_way_to_lift_the_limit_nothing_runs_without_it():
    done, tried, _ = search(Program(), reference=False)
    assert done.against_own is None
    assert not any(one.lifted for one in tried)


def test_a_program_that_fits_keeps_its_batch_where_that_is_fastest():
    done, _, _ = search(Program(memory=(10, 1), time=(1000.0, 1.0), noise=0.01))
    assert done.batch == 128


@pytest.mark.parametrize("budget_s", [5, 30, 60, 120])
def test_the_budget_is_kept_and_what_was_measured_counts(budget_s):
    done, tried, _ = search(Program(noise=0.05), budget_s=budget_s)
    assert done.out_of_budget
    assert sum(one.wall_ns for one in tried) <= max(budget_s, 10) * SECOND
    if budget_s >= 30:
        assert done.batch == 64


@pytest.mark.parametrize("seed", range(40))
def test_every_search_ends_with_something_that_was_seen_to_fit(seed):
    chance = random.Random(seed)  # noqa: S311
    program = Program(
        memory=(chance.uniform(0, 1200), chance.uniform(0, 30)),
        time=(chance.uniform(0, 1000), chance.uniform(1, 50)),
        noise=chance.choice([0.0, 0.01, 0.3]),
        knee=chance.choice([None, 4, 16]),
        fails=tuple(chance.sample([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48], 2)),
        seed=seed,
    )
    done, tried, options = search(program, own=chance.choice([1, 7, 48, 60, 128]))
    seen = {one.batch for one in tried if one.outcome in (Fit.FITS, Fit.TIGHT) and not one.lifted}
    assert done.batch in seen | {None}
    assert (done.batch is None) == (not seen)
    restored = msgspec.msgpack.decode(msgspec.msgpack.encode(tried), type=tuple[Tried, ...])
    assert next_try(restored, options) == done  # what a journal gives back leads to the same end
