"""Gates over whole recordings."""

import numpy as np
import pytest
from gates_samples import changed, curve, replayed, run

from pitstop.tune.gates_path import (
    UNPAIRED_ALPHA,
    bit_equal,
    finite,
    rhythm,
    settings,
    trajectory_paired,
    trajectory_unpaired,
)

SEEDS = [run(seed=seed) for seed in range(3)]


def shifted(by):
    return run(losses=curve(0, shift=by))


def test_a_curve_shifted_by_the_stated_power_fails_and_by_half_of_it_passes():
    limit = trajectory_paired(shifted(0), baseline=SEEDS).limit
    assert trajectory_paired(shifted(limit / 2), baseline=SEEDS).passed
    gate = trajectory_paired(shifted(limit * 1.01), baseline=SEEDS)
    assert gate.passed is False
    assert gate.measured == pytest.approx(limit * 1.01)


def test_another_seed_is_no_equal_of_the_same_seed():
    assert trajectory_paired(run(seed=7), baseline=SEEDS).passed is False


@pytest.mark.parametrize("baseline", [SEEDS[:1], [run(losses=curve(0, steps=8)), run(losses=curve(1, steps=8))]])
def test_one_seed_or_a_handful_of_steps_say_nothing(baseline):
    assert trajectory_paired(SEEDS[0], baseline=baseline).passed is None


def test_the_unpaired_gate_turns_correct_programs_away_no_more_often_than_stated():
    """2,000 pairs of three seeds each, all of one distribution."""
    rounds = 2000
    wrong = 0
    for start in range(0, rounds * 6, 6):
        runs = [run(seed=start + n) for n in range(6)]
        wrong += trajectory_unpaired(runs[:3], baseline=runs[3:]).passed is False
    assert wrong / rounds <= UNPAIRED_ALPHA + 3 * np.sqrt(UNPAIRED_ALPHA * (1 - UNPAIRED_ALPHA) / rounds)


def test_the_unpaired_gate_catches_a_clear_shift():
    moved = [run(losses=curve(seed, shift=0.2)) for seed in (10, 11, 12)]
    assert trajectory_unpaired(moved, baseline=SEEDS).passed is False
    assert trajectory_unpaired(moved[:1], baseline=SEEDS).passed is None


def test_bits():
    assert bit_equal(SEEDS[0], original=SEEDS[0], repeated=SEEDS[0]).passed
    losses = (*SEEDS[0].losses[:-1], (float(np.nextafter(SEEDS[0].losses[-1][0], 1e9)),))
    assert bit_equal(changed(SEEDS[0], losses=losses), original=SEEDS[0], repeated=SEEDS[0]).measured == 1
    assert bit_equal(changed(SEEDS[0], hash_end="other"), original=SEEDS[0], repeated=SEEDS[0]).passed is False


def test_bit_equality_means_nothing_in_a_program_that_does_not_repeat_itself():
    gate = bit_equal(SEEDS[0], original=SEEDS[0], repeated=changed(SEEDS[0], hash_end="other"))
    assert gate.passed is None
    assert "1 steps differ" in gate.detail
    assert bit_equal(SEEDS[0], original=SEEDS[0], repeated=None).passed is None


def test_nan_in_a_loss_or_a_replayed_gradient_fails():
    bad = run(losses=(*curve(0)[:-1], (None,)))
    assert finite(bad, original=SEEDS[0]).passed is False
    assert finite(run(replays=(replayed(finite=False),)), original=SEEDS[0]).passed is False
    assert finite(SEEDS[0], original=bad).passed is None
    assert finite(run(losses=()), original=SEEDS[0]).passed is None


def test_a_skipped_or_empty_step_breaks_the_rhythm_and_a_vanished_tensor_does_not():
    def with_step(step):
        return changed(SEEDS[0], rhythm=(*SEEDS[0].rhythm[:5], step, *SEEDS[0].rhythm[6:]))

    assert rhythm(with_step((2, 2, 1, 2)), original=SEEDS[0]).passed is False
    assert rhythm(with_step((1, 1, 1, 0)), original=SEEDS[0]).passed is False
    assert rhythm(with_step((1, 1, 1, 1)), original=SEEDS[0]).passed
    assert rhythm(run(losses=curve(0, steps=5)), original=SEEDS[0]).passed is None


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ({"lr": 1.1e-3, "betas": (0.9, 0.999)}, ["lr"]),
        ({"lr": 1e-3 * (1 + 1e-9), "betas": (0.9, 0.999)}, []),
        ({"lr": 1e-3, "betas": (0.9, 0.99)}, ["betas"]),
        ({"lr": 1e-3}, ["betas"]),
        ({"lr": 1e-3, "betas": (0.9, 0.999), "weight_decay": 0.1}, ["weight_decay"]),
    ],
)
def test_settings_are_compared_by_name(group, names):
    gate = settings(changed(SEEDS[0], settings=(((0, (group,)),),) * 40), original=SEEDS[0])
    assert gate.measured == len(names)
    assert all(name in gate.detail for name in names)
