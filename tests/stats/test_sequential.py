"""The level of the looks, by simulation that shares nothing with the integration under test."""

import math

import numpy as np
import pytest

from pitstop.stats import Plan, critical_values, estimate, repeated_interval
from pitstop.stats.sequential import kronecker, spent

PATHS = 40_000


def crossings(plan: Plan, *, sd: float, seed: int, heavy: bool = False) -> float:
    """Share of simulated null comparisons that cross at any look."""
    rng = np.random.default_rng(seed)
    shape = (PATHS, plan.looks[-1])
    ratios = rng.standard_t(3, shape) * sd if heavy else rng.standard_normal(shape) * sd
    crossed = np.zeros(PATHS, dtype=bool)
    for pairs, critical in zip(plan.looks, critical_values(plan), strict=True):
        part = ratios[:, :pairs]
        t_value = part.mean(axis=1) / (part.std(axis=1, ddof=1) / math.sqrt(pairs))
        crossed |= np.abs(t_value) > critical
    return float(crossed.mean())


def bound(level: float) -> float:
    """Four standard errors of a simulated level: passes a right level all but once in 15,000."""
    return 4 * math.sqrt(level * (1 - level) / PATHS)


LOOKS = [(3,), (4,), (3, 6), (4, 8), (3, 4, 6, 8, 12), (4, 6, 8, 12), (4, 8, 12, 16)]


@pytest.mark.parametrize("spending", ["pocock", "obrien-fleming"])
@pytest.mark.parametrize("looks", LOOKS, ids=str)
def test_the_level_over_all_looks_is_the_stated_one(looks, spending):
    plan = Plan(looks=looks, alpha=0.05, spending=spending)
    level = crossings(plan, sd=0.04, seed=sum(looks))
    assert abs(level - 0.05) < bound(0.05)


@pytest.mark.parametrize("sd", [0.01, 0.02, 0.08])
@pytest.mark.parametrize("alpha", [0.1, 0.05 / 3])
def test_the_level_does_not_depend_on_the_noise(sd, alpha):
    plan = Plan(looks=(4, 8, 12, 16), alpha=alpha)
    assert abs(crossings(plan, sd=sd, seed=7) - alpha) < bound(alpha)


def test_heavy_tails_make_false_claims_rarer_not_more_frequent():
    """Why no outlier is thrown away: one bad process costs power, never the level."""
    plan = Plan(looks=(4, 8, 12, 16), alpha=0.05)
    assert crossings(plan, sd=0.04, seed=3, heavy=True) < 0.05 + bound(0.05)


def test_known_variance_gives_the_published_boundaries():
    """Lan-DeMets O'Brien-Fleming-type, 4 equal looks, two-sided 0.05: 4.333, 2.963, 2.359, 2.014 (Jennison and Turnbull)."""
    found = critical_values(Plan(looks=(5000, 10000, 15000, 20000), spending="obrien-fleming"))
    assert found == pytest.approx((4.333, 2.963, 2.359, 2.014), abs=0.01)
    pocock = critical_values(Plan(looks=(5000, 10000, 15000, 20000), spending="pocock"))
    assert pocock == pytest.approx((2.368, 2.368, 2.358, 2.350), abs=0.015)


def test_one_look_is_the_ordinary_t_interval():
    assert critical_values(Plan(looks=(8,))) == pytest.approx((2.3646,), abs=1e-4)


def test_boundaries_are_the_same_every_time():
    critical_values.cache_clear()
    first = critical_values(Plan(looks=(4, 8, 12)))
    critical_values.cache_clear()
    assert critical_values(Plan(looks=(4, 8, 12))) == first


def test_the_repeated_interval_is_wider_than_a_single_look_would_be():
    plan = Plan(looks=(4, 8))
    pairs = estimate([0.1, 0.12, 0.08, 0.1, 0.11, 0.09, 0.1, 0.1])
    one = repeated_interval(pairs, plan=Plan(looks=(8,)), look=0)
    low, high = repeated_interval(pairs, plan=plan, look=1)
    assert low < one[0] < pairs.speedup < one[1] < high


@pytest.mark.parametrize("spending", ["pocock", "obrien-fleming"])
def test_spending_rises_to_alpha(spending):
    values = [spent(share, alpha=0.05, spending=spending) for share in (0.1, 0.3, 0.6, 0.9, 1.0)]
    assert values == sorted(values)
    assert values[-1] == 0.05


@pytest.mark.parametrize("looks", [(), (1, 4), (4, 4), (8, 4)])
def test_looks_that_make_no_sense_are_refused(looks):
    with pytest.raises(ValueError, match="looks"):
        Plan(looks=looks)


def test_the_point_set_is_even():
    cube = kronecker(6, 1 << 12)
    assert cube.min() > 0
    assert cube.max() < 1
    assert np.abs(cube.mean(axis=1) - 0.5).max() < 0.002
