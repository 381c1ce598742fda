"""Many simulated tunes: false wins, power, share of the best possible, budgets. Bounds are binomial, seeds fixed.

`bench/simulate_tunes.py` runs more of the same and prints the table of docs/statistics.md.
"""

import math
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from scipy.stats import binom

from pitstop.records import Trial, TrialOutcome
from pitstop.stats import Plan, sequential_power
from pitstop.tune.search_actions import SearchOptions
from pitstop.tune.search_confirming import Confirming, Finalist, absorb, next_run, winner
from pitstop.tune.simulate import Machine, Noise, Tuned, best_possible, run_tune
from pitstop.tune.simulate_programs import SimulatedProgram, null_program, planted_program, random_program

FEW = ("workers=1", "workers=2", "bf16", "fused-adam")
ONE_SIDED = 0.025  # half of alpha


def tune(program: SimulatedProgram, seed: int, *, noise: Noise, few: bool = False, **options) -> Tuned:
    known = tuple(one for one in program.proposals() if not few or one.name in FEW)
    machine = Machine(program.log_gain, rng=np.random.default_rng(seed), noise=noise)
    return run_tune(known, machine, options=SearchOptions(**options))


@pytest.mark.parametrize("margin", [0.02, 0.0])
@pytest.mark.parametrize(
    "noise", [Noise(sd=0.039), Noise(sd=0.015, drift_sd=0.01, burst_chance=0.05, burst=0.2)], ids=["traps", "bursts"]
)
def test_nothing_to_find_is_hardly_ever_found(margin, noise):
    """A/A: false wins stay within alpha at the margin and at margin 0."""
    runs = 400
    wins = sum(
        bool(tune(null_program(), seed, noise=noise, few=True, margin=margin).finish.chosen) for seed in range(runs)
    )
    assert wins <= binom.ppf(0.999, runs, ONE_SIDED)


def confirm(
    true_log_ratio: float, rng: np.random.Generator, *, sd: float, margin: float, finalists: int = 1
) -> Confirming:
    """Run the confirmation phase alone, on costs without anything around them."""
    phase = Confirming(finalists=tuple(Finalist(key=(f"f{n}",)) for n in range(finalists)), looks=(4, 8, 12, 16))
    options = SearchOptions(margin=margin)
    while (key := next_run(phase)) is not None:
        log_cost = sd * rng.standard_normal() - (true_log_ratio if key else 0.0)
        trial = Trial(
            proposals=key, outcome=TrialOutcome.MEASURED, window_ns=round(1e12 * math.exp(log_cost)), window_steps=100
        )
        phase = absorb(phase, trial, options=options)
    return phase


@pytest.mark.parametrize(("margin", "finalists"), [(0.02, 1), (0.0, 1), (0.02, 3), (0.0, 3)])
def test_a_finalist_exactly_at_the_margin_is_confirmed_within_alpha(margin, finalists):
    """The hardest case for the claim itself, whatever screening let through."""
    rng = np.random.default_rng(11)
    runs = 1000 if finalists == 1 else 500
    wins = sum(
        winner(confirm(math.log1p(margin), rng, sd=0.039, margin=margin, finalists=finalists)) is not None
        for _ in range(runs)
    )
    assert wins <= binom.ppf(0.999, runs, ONE_SIDED)
    assert wins > 0, "a claim that never errs here has no power either"


def test_five_percent_are_found_with_the_stated_power():
    sd = 0.0125
    stated = sequential_power(math.log(1.05), sd=sd * math.sqrt(2), margin=0.02, plan=Plan(looks=(4, 8, 12, 16)))
    assert stated > 0.95, "a case of high power, so that what screening loses shows"
    runs = 120
    tunes = [tune(planted_program({"bf16": 1.05}), seed, noise=Noise(sd=sd), few=True) for seed in range(runs)]
    found = sum("bf16" in one.finish.chosen for one in tunes)
    assert found >= binom.ppf(0.001, runs, 0.9)


def test_the_confirmation_has_the_power_that_is_stated():
    rng = np.random.default_rng(4)
    stated = sequential_power(math.log(1.06), sd=0.039 * math.sqrt(2), margin=0.02, plan=Plan(looks=(4, 8, 12, 16)))
    runs = 600
    wins = sum(winner(confirm(math.log(1.06), rng, sd=0.039, margin=0.02)) is not None for _ in range(runs))
    lost_to_futility = 0.03
    assert wins >= binom.ppf(0.001, runs, stated - lost_to_futility)
    assert wins <= binom.ppf(0.999, runs, stated)


def test_twice_as_fast_is_always_found_and_soon():
    tunes = [tune(planted_program({"workers=2": 2.0}), seed, noise=Noise()) for seed in range(60)]
    assert all("workers=2" in one.finish.chosen for one in tunes)
    assert all(one.finish.ci[0] > 1.02 for one in tunes)
    assert np.median([one.finish.pairs for one in tunes]) == 4
    assert np.mean([one.finish.trials for one in tunes]) < 50


@pytest.mark.parametrize(("sd", "share"), [(0.01, 0.98), (0.039, 0.95)])
def test_nearly_all_of_what_exhaustive_search_would_find(sd, share):
    """192 sets per program; ten minutes of six-second trials."""
    found = []
    for seed in range(60):
        program = random_program(np.random.default_rng(seed))
        tuned = tune(program, seed, noise=Noise(sd=sd), budget_ns=600 * 10**9)
        _, best = best_possible(program.proposals(), program.log_gain)
        found.append(math.exp(program.log_gain(tuned.finish.chosen) - best))
    assert np.mean(found) >= share


@pytest.mark.parametrize("seconds", [30, 60, 120, 240, 600])
def test_the_budget_is_kept(seconds):
    for seed in range(12):
        program = random_program(np.random.default_rng(seed))
        tuned = tune(program, seed, noise=Noise(), budget_ns=seconds * 10**9)
        last_ns = tuned.observations[-1].wall_ns
        assert tuned.finish.spent_ns <= seconds * 10**9 + last_ns
        if tuned.finish.chosen:
            assert tuned.finish.pairs >= 3
        assert tuned.finish.reason


def test_a_budget_for_nothing_says_so_and_claims_nothing():
    tuned = tune(planted_program({"bf16": 2.0}), 0, noise=Noise(sd=0.01), budget_ns=20 * 10**9)
    assert tuned.finish.chosen == ()
    assert "budget" in tuned.finish.reason
    assert all(one.stage == "screen" for one in tuned.finish.verdicts)


def test_a_large_gain_is_found_on_a_small_budget():
    """Fifteen trials for nine settings and a confirmation: everything at once is the only way."""
    gains = {"workers=2": 2.0, "bf16": 1.3}
    tuned = tune(planted_program(gains), 1, noise=Noise(sd=0.01), budget_ns=110 * 10**9)
    assert {"workers=2", "bf16"} <= set(tuned.finish.chosen)


@pytest.mark.parametrize("factor", [0.1, 3.0, 1000.0])
def test_a_machine_of_another_speed_takes_the_same_decisions(factor):
    class Scaled(Machine):
        def answer(self, action):
            found = super().answer(action)
            if not isinstance(found, Trial):
                return found
            return msgspec.structs.replace(
                found,
                window_ns=round(found.window_ns * factor * 1e3),
                wall_ns=round(found.wall_ns * factor * 1e3),
            )

    class Plain(Scaled):
        def answer(self, action):
            found = Machine.answer(self, action)
            if not isinstance(found, Trial):
                return found
            return msgspec.structs.replace(found, window_ns=found.window_ns * 1000, wall_ns=found.wall_ns * 1000)

    program = random_program(np.random.default_rng(3))
    tunes = [
        run_tune(program.proposals(), machine(program.log_gain, rng=np.random.default_rng(3), noise=Noise(sd=0.02)))
        for machine in (Plain, Scaled)
    ]
    assert [one.proposals for one in tunes[0].actions[:-1]] == [one.proposals for one in tunes[1].actions[:-1]]
    assert tunes[0].finish.chosen == tunes[1].finish.chosen
    assert tunes[0].finish.speedup == pytest.approx(tunes[1].finish.speedup, rel=1e-6)


def test_the_order_of_the_groups_does_not_matter_without_noise():
    for seed in range(8):
        program = random_program(np.random.default_rng(seed))
        known = program.proposals()
        groups = sorted({one.group for one in known})
        np.random.default_rng(seed).shuffle(groups)
        shuffled = tuple(one for group in groups for one in known if one.group == group)
        first, second = (
            run_tune(order, Machine(program.log_gain, rng=np.random.default_rng(0), noise=Noise(sd=1e-6)))
            for order in (known, shuffled)
        )
        gains = [program.log_gain(one.finish.chosen) for one in (first, second)]
        assert gains[0] == pytest.approx(gains[1], abs=0.02)


def test_recorded_noise_is_played_in_its_own_order():
    recorded = tuple(float(x) for x in range(5))
    machine = Machine(lambda _: 0.0, rng=np.random.default_rng(0), noise=Noise(recorded=recorded))
    costs = [machine._scatter() for _ in range(10)]
    assert costs[:5] == costs[5:]
    assert all(b == (a + 1) % 5 for a, b in pairwise(costs))
