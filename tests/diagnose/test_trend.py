"""Straight lines through points."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.diagnose.trend import trend


@given(slope=st.integers(-1000, 1000).filter(bool), start=st.integers(-1000, 1000), many=st.integers(5, 50))
def test_a_straight_line_is_found_and_explains_everything(slope, start, many):
    line = trend([(float(x), float(start + slope * x)) for x in range(many)])
    assert line is not None
    assert line.slope == pytest.approx(slope)
    assert line.explained == pytest.approx(1.0)


def test_noise_explains_little_and_a_constant_nothing():
    saw = trend([(float(x), float(x % 2)) for x in range(20)])
    flat = trend([(float(x), 5.0) for x in range(20)])
    assert saw is not None
    assert flat is not None
    assert saw.explained < 0.1
    assert (flat.slope, flat.explained) == (0.0, 0.0)


def test_too_few_points_have_no_line():
    assert trend([(0.0, 0.0)] * 4) is None
    assert trend([(1.0, float(y)) for y in range(9)]) is None
