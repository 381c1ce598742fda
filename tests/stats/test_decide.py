import math

import numpy as np
import pytest

from pitstop.stats import Plan, compare, decide, decide_all


@pytest.mark.parametrize(
    ("ratios", "kind"),
    [
        ([0.70, 0.69, 0.71, 0.70], "faster"),
        ([-0.70, -0.69, -0.71, -0.70], "slower"),
        ([0.001, -0.001, 0.002, -0.002], "equivalent"),
        ([0.3, -0.2, 0.1, -0.1], "undecided"),
    ],
)
def test_the_four_answers(ratios, kind):
    assert compare(ratios).kind == kind


def test_faster_needs_the_lower_end_above_the_margin_not_only_above_one():
    """1.5 % faster beyond all noise: under a margin of 2 % equivalent, at margin 0 faster."""
    ratios = [0.0149, 0.0151, 0.0150, 0.0150]
    assert compare(ratios, margin=0.02).kind == "equivalent"
    assert compare(ratios, margin=0.0).kind == "faster"


def test_at_margin_zero_nothing_is_ever_equivalent():
    assert compare([0.0, 0.0, 1e-9, -1e-9], margin=0.0).kind == "undecided"


def test_undecided_says_what_would_decide():
    found = compare([0.10, 0.0, 0.12, -0.02])
    assert found.kind == "undecided"
    assert found.further_pairs > 0
    again = compare([0.10, 0.0, 0.12, -0.02] * (1 + found.further_pairs // 4 * 2))
    assert again.kind == "faster"


def test_decided_needs_no_more():
    assert compare([0.5, 0.5, 0.51]).further_pairs == 0


def test_slower_mirrors_faster():
    faster, slower = compare([0.2, 0.21, 0.19]), compare([-0.2, -0.21, -0.19])
    assert faster.ci[0] == pytest.approx(1 / slower.ci[1])
    assert faster.speedup == pytest.approx(1 / slower.speedup)


def test_a_look_with_the_wrong_number_of_pairs_is_refused():
    with pytest.raises(ValueError, match="look 1 is at 8 pairs"):
        decide([0.1] * 7, plan=Plan(looks=(4, 8)), look=1)


def test_holm_gives_the_second_claim_the_level_that_the_first_no_longer_needs():
    plan = Plan(looks=(6,))
    strong = [0.40, 0.41, 0.39, 0.40, 0.41, 0.39]
    weak = [x + 0.02 + math.log1p(0.02) for x in (-0.016, 0.016, -0.018, 0.018, -0.017, 0.017)]
    alone_at_half = decide(weak, plan=Plan(looks=(6,), alpha=0.025), look=0)
    assert alone_at_half.kind == "undecided", "the case must need the full level"
    assert decide(weak, plan=plan, look=0).kind == "faster", "the case must hold at the full level"
    both = decide_all({"strong": strong, "weak": weak}, plan=plan, look=0)
    assert [both["strong"].kind, both["weak"].kind] == ["faster", "faster"]
    assert both["strong"].alpha == 0.025
    assert both["weak"].alpha == 0.05
    nobody = decide_all({"noise": [0.1, -0.1, 0.05, -0.06, 0.0, 0.01], "weak": weak}, plan=plan, look=0)
    assert nobody["weak"].kind == "undecided"


@pytest.mark.parametrize("margin", [0.0, 0.02])
@pytest.mark.parametrize("pairs", [3, 4, 6, 8, 12])
def test_false_wins_among_three_null_claims_stay_below_alpha(pairs, margin):
    """True ratio exactly at the margin, three claims sharing the baseline's noise, stopping at the first win of any look."""
    plan = Plan(looks=(3, pairs) if pairs > 3 else (3,), alpha=0.05)
    rng = np.random.default_rng(pairs)
    runs, wins = 1500, 0
    for _ in range(runs):
        shared = 0.04 * rng.standard_normal(pairs)
        ratios = {
            name: math.log1p(margin) + shared + 0.04 * rng.standard_normal(pairs) for name in ("one", "two", "three")
        }
        wins += any(
            decision.kind == "faster"
            for look, size in enumerate(plan.looks)
            for decision in decide_all(
                {name: values[:size] for name, values in ratios.items()}, plan=plan, look=look, margin=margin
            ).values()
        )
    level = 0.025  # one-sided half of alpha
    assert wins / runs < level + 3 * math.sqrt(level * (1 - level) / runs)


def test_numbers_of_finished_claims_keep_the_level_shared():
    ratios = [0.10, 0.11, 0.09, 0.10]
    alone = decide_all({"left": ratios}, plan=Plan(looks=(4,)), look=0)
    of_three = decide_all({"left": ratios}, plan=Plan(looks=(4,)), look=0, among=3)
    after_a_win = decide_all({"left": ratios}, plan=Plan(looks=(4,)), look=0, among=3, claimed=1)
    assert alone["left"].alpha == 0.05
    assert of_three["left"].alpha == pytest.approx(0.05 / 3)
    assert after_a_win["left"].alpha == pytest.approx(0.05 / 2)
