import math

import numpy as np
import pytest

from pitstop.stats import TimedRun, noise_sd, screen


def run(at_ns: float, cost: float) -> TimedRun:
    return TimedRun(at_ns=at_ns, log_cost=math.log(cost))


def test_the_baseline_is_the_one_of_that_moment():
    """The machine slows down by 20 % over the time of screening; a candidate in the middle sees half of that."""
    baselines = [run(0, 100.0), run(10, 120.0)]
    middle = math.exp((math.log(100) + math.log(120)) / 2)
    found = screen([run(5, middle / 2)], baselines=baselines, sd=0.01)
    assert found.speedup == pytest.approx(2.0)


def test_linear_drift_cancels_for_any_moment():
    baselines = [run(t, math.exp(0.01 * t)) for t in (0, 10, 20)]
    for at_ns in (1, 4, 9, 13, 19):
        found = screen([run(at_ns, math.exp(0.01 * at_ns) / 1.5)], baselines=baselines, sd=0.01)
        assert found.speedup == pytest.approx(1.5)


def test_without_a_later_baseline_the_last_one_counts():
    found = screen([run(30, 50.0)], baselines=[run(0, 90.0), run(10, 100.0)], sd=0.04)
    assert found.speedup == pytest.approx(2.0)
    assert found.standard_error == pytest.approx(0.04 * math.sqrt(2))


def test_the_standard_error_is_what_happens():
    rng = np.random.default_rng(1)
    sd, found = 0.03, []
    for _ in range(4000):
        noise = sd * rng.standard_normal(6)
        baselines = [TimedRun(at_ns=t, log_cost=x) for t, x in zip((0, 3, 6), noise[:3], strict=True)]
        treated = [TimedRun(at_ns=t, log_cost=x) for t, x in zip((1, 2, 5), noise[3:], strict=True)]
        found.append(screen(treated, baselines=baselines, sd=sd))
    seen = float(np.std([one.log_ratio for one in found]))
    assert seen == pytest.approx(found[0].standard_error, rel=0.05)


def test_more_runs_know_more():
    baselines = [run(t, 100.0) for t in range(0, 40, 10)]
    one = screen([run(5, 50.0)], baselines=baselines, sd=0.04)
    three = screen([run(5, 50.0), run(15, 50.0), run(25, 50.0)], baselines=baselines, sd=0.04)
    assert three.standard_error < 0.65 * one.standard_error


def test_nothing_to_compare_is_refused():
    with pytest.raises(ValueError, match="baseline"):
        screen([], baselines=[run(0, 1.0)], sd=0.04)
    with pytest.raises(ValueError, match="baseline"):
        screen([run(0, 1.0)], baselines=[], sd=0.04)


def test_the_noise_is_recovered_and_drift_hardly_counts():
    rng = np.random.default_rng(2)
    noise = 0.02 * rng.standard_normal(400)
    quiet = [TimedRun(at_ns=t, log_cost=x) for t, x in enumerate(noise)]
    drifting = [TimedRun(at_ns=t, log_cost=x + 0.001 * t) for t, x in enumerate(noise)]
    assert noise_sd(quiet) == pytest.approx(0.02, rel=0.1)
    assert noise_sd(drifting) == pytest.approx(0.02, rel=0.1)


def test_repeats_of_candidates_are_pooled_in():
    rng = np.random.default_rng(3)
    repeats = [0.5 + math.sqrt(1.5) * 0.02 * rng.standard_normal(3) for _ in range(200)]
    assert noise_sd([run(0, 1.0)], repeats) == pytest.approx(0.02, rel=0.1)


def test_two_baselines_that_agree_by_luck_promise_no_quiet_machine():
    assert noise_sd([run(0, 100.0), run(1, 100.0)]) > 0.015
