"""What trackers of experiments get to know of a run."""

import re

import msgspec
import pytest

from pitstop.report.run_log import MOST_POINTS, run_log

from .samples import gpu_profile, hostile_tune, photo_profile, photo_tune, stepless_profile, zero_tune

TAKEN = re.compile(r"[A-Za-z0-9_./ -]+")  # by MLflow


def test_a_profile_has_its_times_shares_and_ceilings():
    log = run_log(photo_profile())
    assert log.name == "20261130-141200-train"
    assert log.metrics["steps/mean_ms"] == pytest.approx(40.4)
    assert log.metrics["steps/samples_per_s"] == pytest.approx(32 / 0.0404)
    assert log.metrics["ledger/data_wait_share"] == 0.618
    assert log.metrics["finding/loader-in-main-process/ceiling_speedup"] == 2.62
    assert log.parameters["command"] == "python train.py --data photos --epochs 4"
    assert "device/busy_share" not in log.metrics, "what was not measured is left out, not zero"
    assert run_log(gpu_profile()).metrics["device/busy_share"] == 0.35


def test_a_tune_has_its_speed_up_with_the_interval_and_its_baseline():
    tune = photo_tune()
    log = run_log(tune)
    low, high = tune.prescription.ci
    assert (log.metrics["tune/speedup_low"], log.metrics["tune/speedup_high"]) == (low, high)
    assert log.metrics["steps/mean_ms"] == pytest.approx(40.4)
    assert log.parameters["treatments"] == " + ".join(tune.prescription.treatments)
    assert any(name.endswith((".patch", ".diff")) for name in log.files) == (tune.prescription.patch is not None)


def test_nothing_found_claims_no_speed_up():
    log = run_log(zero_tune())
    assert "tune/speedup" not in log.metrics
    assert "treatments" not in log.parameters


def test_series_are_over_steps_and_bounded():
    profile = msgspec.structs.replace(photo_profile(), step_times_ns=tuple(range(1_000_000, 1_000_000 + 50_001)))
    (times, *shares) = run_log(profile).series
    assert times.name == "step/time_ms"
    assert len(times.points) <= MOST_POINTS
    assert times.points[-1][0] == 50_001
    assert sum(value for _step, value in times.points) / len(times.points) == pytest.approx(1.025, rel=1e-2)
    assert {one.name for one in shares} >= {"step/ledger/data_wait_share", "step/ledger/forward_share"}


@pytest.mark.parametrize("build", [photo_profile, photo_tune, zero_tune, hostile_tune, stepless_profile, gpu_profile])
def test_names_and_values_are_what_trackers_take(build):
    log = run_log(build())
    assert all(TAKEN.fullmatch(name) for name in log.metrics)
    assert all(isinstance(value, float) for value in log.metrics.values())
    assert all("\x1b" not in value for value in log.parameters.values())
