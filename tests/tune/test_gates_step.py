"""Teacher-forced gates: the program's own noise is the yardstick."""

import pytest
from gates_samples import apart, changed, original_replays, replayed, run
from hypothesis import given
from hypothesis import strategies as st

from pitstop.tune.gates_material import Update
from pitstop.tune.gates_step import teacher_forced, update

ORIGINAL = run(replays=original_replays())


def judge(mine, *, precision=False, original=ORIGINAL):
    return {gate.name: gate for gate in teacher_forced(run(replays=(mine,)), original=original, precision=precision)}


def test_the_originals_own_error_passes():
    assert all(gate.passed for gate in judge(replayed(to_float64=apart(1e-6))).values())


def test_an_error_that_bfloat16_explains_passes_as_precision_and_fails_as_same_math():
    mine = replayed(to_float64=apart(1e-2, loss=1e-3, tensors=(1e-2, 1e-2)))
    assert all(gate.passed for gate in judge(mine, precision=True).values())
    assert not any(gate.passed for gate in judge(mine, precision=False).values())


def test_a_fault_of_the_stated_power_is_caught_whatever_the_rounding_does():
    """The limit plus the original's own noise: no rounding error can hide more than its own size."""
    limit = judge(replayed(), precision=True)["teacher-forced-gradient"].limit
    hidden = limit + 1e-2  # what the power line promises
    seen = hidden - 1e-2  # noise pointing against the fault
    assert judge(replayed(to_float64=apart(seen + 1e-9)), precision=True)["teacher-forced-gradient"].passed is False


def test_a_lost_small_layer_fails_though_the_whole_gradient_hardly_changes():
    gates = judge(replayed(to_float64=apart(1.2e-2, tensors=(1e-2, 1.0))), precision=True)
    assert gates["teacher-forced-gradient"].passed
    assert gates["teacher-forced-layers"].passed is False


def test_a_wrong_length_fails_though_the_noise_is_larger_than_it():
    gates = judge(replayed(to_float64=apart(2.5e-2, scale=1.02)), precision=True)
    assert gates["teacher-forced-gradient"].passed
    assert gates["teacher-forced-scale"].passed is False


def test_a_tensor_that_is_noise_by_itself_is_not_judged():
    """A bias before batch norm has gradient zero but for rounding."""
    noisy = tuple(
        changed(one, to_float64=changed(one.to_float64, tensors=(1e-6, 0.9))) for one in original_replays(bf16=1e-6)
    )
    gate = judge(replayed(to_float64=apart(tensors=(1e-6, 1.4))), original=run(replays=noisy))["teacher-forced-layers"]
    assert gate.passed
    assert "1 of 2" in gate.detail


def test_not_finite_fails():
    gates = judge(replayed(to_float64=apart(None, loss=None), finite=False), precision=True)
    assert gates["teacher-forced-loss"].passed is False
    assert gates["teacher-forced-gradient"].passed is False


@pytest.mark.parametrize(
    "shape", [{"missing_fetches": 1}, {"backwards": (2, 1)}, {"errors": ("other order of optimizers",)}]
)
def test_a_step_made_otherwise_fails(shape):
    assert all(gate.passed is False for gate in judge(replayed(**shape)).values())


def test_an_original_that_does_not_repeat_its_own_step_gives_no_verdict():
    plain, *rest = original_replays()
    gates = judge(replayed(), original=run(replays=(changed(plain, to_capture=apart(0.5)), *rest)))
    assert {gate.passed for gate in gates.values()} == {None}


def test_an_original_that_is_all_noise_gives_no_verdict():
    gates = judge(replayed(), original=run(replays=original_replays(own=1.5)))
    assert {gate.passed for gate in gates.values()} == {None}


def test_fp64_is_no_arbiter_where_it_computes_something_else():
    """A program that casts inside `forward` escapes fp64; then its own recording is the reference."""
    escaped = tuple(changed(one, to_float64=apart(0.4)) for one in original_replays(bf16=1e-6))
    gates = judge(replayed(to_float64=apart(0.4), to_capture=apart(1e-6)), original=run(replays=escaped))
    assert gates["teacher-forced-gradient"].passed
    gates = judge(replayed(to_float64=apart(0.4), to_capture=apart(0.1)), original=run(replays=escaped))
    assert gates["teacher-forced-gradient"].passed is False


def test_missing_replays_and_closures_are_reasons():
    assert {gate.passed for gate in teacher_forced(run(), original=ORIGINAL, precision=False)} == {None}
    assert {gate.passed for gate in teacher_forced(run(), original=run(closure=True), precision=False)} == {None}
    without = run(replays=original_replays()[:3])
    assert {gate.passed for gate in teacher_forced(ORIGINAL, original=without, precision=True)} == {None}


@given(noise=st.floats(1e-7, 0.05), factor=st.floats(0.1, 20.0))
def test_the_verdict_depends_on_the_error_in_units_of_the_noise(noise, factor):
    original = run(replays=original_replays(own=noise, bf16=noise))
    gate = judge(replayed(to_float64=apart(factor * noise)), original=original)["teacher-forced-gradient"]
    assert gate.passed is (factor * noise <= 3 * max(noise, 1.2e-7) + 1e-5)


def test_an_update_within_rounding_passes_and_ten_percent_fails():
    def gate(error):
        mine = run(replays=(replayed(updates=(Update(error=error, floor=1e-5),)),))
        return update(mine, original=ORIGINAL)

    assert gate(2e-5).passed
    assert gate(1e-1).passed is False
    assert gate(None).passed is False
    assert update(run(), original=ORIGINAL).passed is None
