"""Windows hold whole periods where they fit, and are never so short that prefetched batches flatter them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.tune.window import plan_window

MS = 1_000_000


def test_short_epochs_are_run_whole_after_a_warm_up_epoch():
    window = plan_window(step_ns=100 * MS, steps_per_epoch=20, available_steps=None, wanted_ns=4000 * MS)
    assert window.whole_epochs
    assert window.steps == 40
    assert window.first == 22, "the first evaluation and what it compiles stay in the warm-up"


def test_long_epochs_leave_the_steady_part_only():
    window = plan_window(step_ns=100 * MS, steps_per_epoch=5000, available_steps=None, wanted_ns=4000 * MS)
    assert not window.whole_epochs
    assert window.steps >= 40


def test_a_window_is_ten_times_what_workers_had_ready():
    window = plan_window(
        step_ns=1 * MS, steps_per_epoch=None, available_steps=None, wanted_ns=1 * MS, prefetched_steps=16
    )
    assert window.first >= 16
    assert window.steps >= 160


@pytest.mark.parametrize(("step_s", "steps"), [(0.1, 60), (0.5, 22), (2.0, 12), (30.0, 12)])
def test_slow_steps_are_few(step_s, steps):
    """Six minutes are for twenty trials or more."""
    window = plan_window(
        step_ns=step_s * 1e9, steps_per_epoch=10_000, available_steps=None, wanted_ns=3.6e9, prefetched_steps=6
    )
    assert window.steps == steps
    assert window.first <= max(8, steps // 3)


def test_a_program_that_ends_early_is_measured_over_what_there_is():
    window = plan_window(step_ns=100 * MS, steps_per_epoch=None, available_steps=24, wanted_ns=9000 * MS)
    assert window.stop_after == 24
    assert window.steps >= 16


def test_too_few_steps_are_no_window():
    assert plan_window(step_ns=MS, steps_per_epoch=None, available_steps=7, wanted_ns=MS) is None


def test_whole_batch_training_has_epochs_of_one_step():
    window = plan_window(step_ns=10 * MS, steps_per_epoch=1, available_steps=None, wanted_ns=1000 * MS)
    assert window.whole_epochs
    assert window.first >= 8


def test_whole_batch_training_with_slow_steps_warms_up_in_three():
    window = plan_window(step_ns=2500 * MS, steps_per_epoch=1, available_steps=None, wanted_ns=3600 * MS)
    assert (window.first, window.steps, window.whole_epochs) == (3, 3, True)


@given(
    step_ns=st.floats(1e3, 1e10),
    epoch=st.none() | st.integers(1, 100_000),
    available=st.none() | st.integers(8, 10_000),
    wanted_ns=st.floats(1e6, 1e11),
    prefetched=st.integers(0, 64),
)
def test_a_window_always_fits_and_is_never_empty(step_ns, epoch, available, wanted_ns, prefetched):
    window = plan_window(
        step_ns=step_ns,
        steps_per_epoch=epoch,
        available_steps=available,
        wanted_ns=wanted_ns,
        prefetched_steps=prefetched,
    )
    assert window.steps >= 1
    assert window.first >= 1
    if available is not None:
        assert window.stop_after <= available
    if window.whole_epochs:
        assert window.steps % epoch == 0
