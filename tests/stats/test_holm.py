import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.stats import holm


def test_holms_own_arithmetic():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))


@given(st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=6), st.randoms())
def test_order_of_the_claims_does_not_matter(p_values, random):
    order = list(range(len(p_values)))
    random.shuffle(order)
    adjusted = holm(p_values)
    assert holm([p_values[index] for index in order]) == tuple(adjusted[index] for index in order)


@given(st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=6))
def test_adjusting_never_helps_a_claim_and_keeps_the_ranking(p_values):
    adjusted = holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    ranked = sorted(range(len(p_values)), key=lambda index: p_values[index])
    assert [adjusted[index] for index in ranked] == sorted(adjusted)
