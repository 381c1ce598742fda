import math

import numpy as np
import pytest

from pitstop.stats import (
    Plan,
    compare,
    detectable_speedup,
    pairs_to_show_equivalent,
    pairs_to_show_faster,
    power_equivalent,
    power_faster,
    sequential_power,
)
from pitstop.stats.decide import decide

RUNS = 3000


def simulated(effect: float, *, sd: float, pairs: int, margin: float, kind: str) -> float:
    rng = np.random.default_rng(5)
    ratios = effect + sd * rng.standard_normal((RUNS, pairs))
    return sum(compare(row, margin=margin).kind == kind for row in ratios) / RUNS


@pytest.mark.parametrize(("effect", "sd", "pairs"), [(0.05, 0.02, 6), (0.08, 0.055, 12), (0.03, 0.01, 4)])
def test_computed_power_is_what_happens(effect, sd, pairs):
    expected = power_faster(effect, sd=sd, pairs=pairs, margin=0.02)
    assert 0.2 < expected < 0.999, "a case that cannot tell"
    seen = simulated(effect, sd=sd, pairs=pairs, margin=0.02, kind="faster")
    assert abs(seen - expected) < 4 * math.sqrt(expected * (1 - expected) / RUNS)


def test_equivalence_power_is_what_happens():
    expected = power_equivalent(0.0, sd=0.02, pairs=12, margin=0.02)
    assert 0.5 < expected < 0.99
    seen = simulated(0.0, sd=0.02, pairs=12, margin=0.02, kind="equivalent")
    assert abs(seen - expected) < 4 * math.sqrt(expected * (1 - expected) / RUNS) + 0.01


def test_the_number_of_pairs_has_the_power_and_one_less_has_not():
    pairs = pairs_to_show_faster(math.log(1.05), sd=0.03, margin=0.02)
    assert power_faster(math.log(1.05), sd=0.03, pairs=pairs, margin=0.02) >= 0.8
    assert power_faster(math.log(1.05), sd=0.03, pairs=pairs - 1, margin=0.02) < 0.8
    same = pairs_to_show_equivalent(0.005, sd=0.03, margin=0.02)
    assert power_equivalent(0.005, sd=0.03, pairs=same, margin=0.02) >= 0.8
    assert power_equivalent(0.005, sd=0.03, pairs=same - 1, margin=0.02) < 0.8


def test_what_lies_at_the_edge_is_decided_by_no_number_of_pairs():
    assert pairs_to_show_faster(math.log(1.02), sd=0.03, margin=0.02) is None
    assert pairs_to_show_equivalent(0.0, sd=0.03, margin=0.0) is None
    assert pairs_to_show_faster(math.log(1.02) + 1e-9, sd=0.03, margin=0.02) is None


def test_detectable_speedup_is_found_with_that_power():
    found = detectable_speedup(pairs=8, sd=0.055, margin=0.02)
    assert power_faster(math.log(found), sd=0.055, pairs=8, margin=0.02) == pytest.approx(0.8, abs=1e-6)
    assert detectable_speedup(pairs=1, sd=0.055, margin=0.02) is None


def test_no_noise_needs_two_pairs():
    assert pairs_to_show_faster(0.5, sd=0.0, margin=0.02) == 2
    assert pairs_to_show_faster(0.5, sd=1e-12, margin=0.02) == 2


def test_power_over_looks_is_what_happens():
    plan = Plan(looks=(4, 8, 12))
    expected = sequential_power(math.log(1.06), sd=0.035, margin=0.02, plan=plan)
    assert 0.3 < expected < 0.99
    rng = np.random.default_rng(9)
    runs = math.log(1.06) + 0.035 * rng.standard_normal((RUNS, 12))
    seen = sum(
        any(decide(row[:pairs], plan=plan, look=look).kind == "faster" for look, pairs in enumerate(plan.looks))
        for row in runs
    )
    assert abs(seen / RUNS - expected) < 4 * math.sqrt(expected * (1 - expected) / RUNS)
