import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.stats import estimate, log_ratios, order_of_pairs, t_interval

times = st.floats(min_value=1e3, max_value=1e12)


@given(st.lists(st.tuples(times, times), min_size=2, max_size=12), st.floats(min_value=0.01, max_value=100))
def test_a_machine_that_is_slower_throughout_changes_nothing(pairs, factor):
    baseline, treated = zip(*pairs, strict=True)
    here = estimate(log_ratios(baseline, treated))
    there = estimate(log_ratios([t * factor for t in baseline], [t * factor for t in treated]))
    assert there.log_ratio == pytest.approx(here.log_ratio, abs=1e-9)
    assert there.sd == pytest.approx(here.sd, abs=1e-9)


@given(st.lists(st.tuples(times, times), min_size=2, max_size=12))
def test_swapping_the_sides_mirrors_the_interval(pairs):
    baseline, treated = zip(*pairs, strict=True)
    low, high = t_interval(estimate(log_ratios(baseline, treated)))
    mirrored_low, mirrored_high = t_interval(estimate(log_ratios(treated, baseline)))
    assert math.log(low) == pytest.approx(-math.log(mirrored_high), abs=1e-9)
    assert math.log(high) == pytest.approx(-math.log(mirrored_low), abs=1e-9)


@given(st.lists(st.tuples(times, times), min_size=2, max_size=8), st.randoms())
def test_the_order_of_the_pairs_does_not_matter(pairs, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)
    one = estimate(log_ratios(*zip(*pairs, strict=True)))
    other = estimate(log_ratios(*zip(*shuffled, strict=True)))
    assert one.log_ratio == pytest.approx(other.log_ratio, abs=1e-12)
    assert one.sd == pytest.approx(other.sd, abs=1e-12)


def test_the_interval_is_students():
    """Four pairs, mean 0.1, sd 0.02: the half width is 3.1824 (t, 3 degrees, 2.5 %) times 0.01."""
    ratios = [0.1 + 0.02 * x for x in (-math.sqrt(1.5), 0, 0, math.sqrt(1.5))]
    low, high = t_interval(estimate(ratios))
    assert math.log(low) == pytest.approx(0.1 - 0.031824, abs=1e-5)
    assert math.log(high) == pytest.approx(0.1 + 0.031824, abs=1e-5)


@pytest.mark.parametrize("pairs", [2, 4, 6, 8])
@pytest.mark.parametrize("treated", [1, 2, 3])
def test_linear_drift_cancels_over_an_even_number_of_pairs(pairs, treated):
    order = order_of_pairs(pairs, treated=treated)
    for side in range(1, treated + 1):
        baseline = sum(slot for slot, what in enumerate(order) if what == 0)
        moments = sum(slot for slot, what in enumerate(order) if what == side)
        assert baseline == moments


def test_the_order_is_abba():
    assert order_of_pairs(4) == (0, 1, 1, 0, 0, 1, 1, 0)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_time_is_refused(bad):
    with pytest.raises(ValueError, match="not a measurement"):
        log_ratios([1.0, bad], [1.0, 1.0])


def test_sides_of_different_length_are_refused():
    with pytest.raises(ValueError, match="not pairs"):
        log_ratios([1.0, 2.0], [1.0])


def test_one_pair_bounds_nothing():
    assert t_interval(estimate([0.5])) == (0.0, math.inf)
