import numpy as np
import pytest

from pitstop.stats import effective_sample_size, percentile, samples_needed


@pytest.mark.parametrize(("share", "needed"), [(0.9, 64), (0.99, 662), (0.999, 6636), (0.1, 64)])
def test_the_counts_of_the_design(share, needed):
    assert samples_needed(share) == needed


def test_refused_below_the_count_and_given_from_it_on():
    rng = np.random.default_rng(1)
    values = rng.permutation(np.arange(700.0))
    assert percentile(values[:40], share=0.9).value is None
    enough = percentile(values, share=0.9)
    assert enough.value == pytest.approx(0.9 * 699)
    assert percentile(values[:600], share=0.99).value is None


def test_samples_that_repeat_each_other_do_not_count_twice():
    """Each value twenty times in a row: 100 values there, about 5 worth having."""
    rng = np.random.default_rng(2)
    values = np.repeat(rng.standard_normal(50), 20)
    assert effective_sample_size(values) == pytest.approx(50, rel=0.35)
    assert percentile(values, share=0.9).value is None


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_the_effective_count_of_an_autoregressive_series(rho):
    """Theory: n (1 - rho) / (1 + rho)."""
    rng = np.random.default_rng(3)
    count = 20_000
    series = np.empty(count)
    series[0] = rng.standard_normal()
    for index in range(1, count):
        series[index] = rho * series[index - 1] + rng.standard_normal()
    assert effective_sample_size(series) == pytest.approx(count * (1 - rho) / (1 + rho), rel=0.12)


def test_alternating_samples_never_count_more_than_there_are():
    assert effective_sample_size([1.0, 2.0] * 50) == 100


def test_constant_and_short_series_are_worth_their_length():
    assert effective_sample_size([3.0] * 10) == 10
    assert effective_sample_size([1.0, 2.0]) == 2


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 90])
def test_what_is_no_share_is_refused(share):
    with pytest.raises(ValueError, match="between 0 and 1"):
        samples_needed(share)
