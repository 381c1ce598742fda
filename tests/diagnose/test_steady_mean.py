"""The mean of steady steps, with and without a warm-up."""

import pytest

from pitstop.records import Steps


@pytest.mark.parametrize(("warmup", "mean"), [(0, 20.0), (1, 15.0), (2, 10.0), (3, 20.0), (9, 20.0)])
def test_the_warm_up_is_left_out_where_steps_remain(warmup, mean):
    steps = Steps(clock="optimizer", start_ns=100, ends_ns=(130, 150, 160), samples=(1, 1, 1), warmup=warmup)
    assert steps.steady_mean_ns == pytest.approx(mean)


def test_no_steps_have_no_mean():
    assert Steps(clock="optimizer", start_ns=100, ends_ns=(), samples=()).steady_mean_ns == 0.0
