import numpy as np
import pytest

from pitstop.records import MemorySample, TreeUsage
from pitstop.stats import judge_quietness, speed_drift

SECOND = 1_000_000_000


def usage(*, own: float, foreign: float, cpus: int = 2, seconds: int = 10, throttled_ns: int | None = 0) -> TreeUsage:
    """Shares of all CPUs, constant over the run."""
    return TreeUsage(
        samples=tuple(
            MemorySample(
                time_ns=t * SECOND,
                rss_bytes=1,
                cpu_ns=int(own * cpus * t * SECOND),
                processes=1,
                foreign_cpu_ns=int(foreign * cpus * t * SECOND),
            )
            for t in range(seconds + 1)
        ),
        cpus=cpus,
        throttled_ns=throttled_ns,
    )


WINDOW = (2 * SECOND, 8 * SECOND)


@pytest.mark.parametrize(
    ("own", "foreign", "valid"),
    [
        (0.95, 0.02, True),
        (0.90, 0.08, False),  # no CPU was idle: what others took, the program lost
        (0.50, 0.08, True),  # half the machine was idle
        (0.20, 0.40, False),  # idle CPUs, yet others share memory bandwidth and caches
    ],
)
def test_foreign_load_counts_where_it_takes_something_away(own, foreign, valid):
    found = judge_quietness(usage(own=own, foreign=foreign), window_ns=WINDOW)
    assert found.valid is valid
    assert found.foreign_share == pytest.approx(foreign)
    assert bool(found.reason) is not valid


def test_load_outside_the_window_is_none_of_its_business():
    quiet, noisy = usage(own=0.9, foreign=0.0).samples, usage(own=0.9, foreign=0.9).samples
    before = [
        MemorySample(
            time_ns=s.time_ns, rss_bytes=1, cpu_ns=s.cpu_ns, processes=1, foreign_cpu_ns=noisy[min(i, 2)].foreign_cpu_ns
        )
        for i, s in enumerate(quiet)
    ]
    found = judge_quietness(TreeUsage(samples=tuple(before), cpus=2), window_ns=WINDOW)
    assert found.valid
    assert found.foreign_share == 0
    assert not judge_quietness(TreeUsage(samples=tuple(before), cpus=2), window_ns=(0, 3 * SECOND)).valid


def test_throttling_counts_only_beyond_what_is_usual_for_the_program():
    throttled = usage(own=0.9, foreign=0.0, throttled_ns=2 * SECOND)
    assert not judge_quietness(throttled, window_ns=WINDOW).valid
    assert judge_quietness(throttled, window_ns=WINDOW, usual_throttled_share=0.19).valid


def test_a_speed_that_drifts_makes_the_run_invalid():
    rng = np.random.default_rng(1)
    steps = np.concatenate([rng.normal(50e6, 2e6, 40), rng.normal(80e6, 2e6, 40)])
    ends = np.cumsum(steps).astype(int).tolist()
    found = judge_quietness(usage(own=0.5, foreign=0.0), window_ns=WINDOW, step_ends_ns=ends)
    assert not found.valid
    assert found.drift == pytest.approx(1.6, abs=0.05)


def test_steps_that_scatter_are_no_drift():
    """Lognormal step times with a spread of 60 %: halves differ, by chance."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        ends = np.cumsum(50e6 * np.exp(0.6 * rng.standard_normal(60))).astype(int).tolist()
        assert judge_quietness(usage(own=0.5, foreign=0.0), window_ns=WINDOW, step_ends_ns=ends).valid


def test_too_little_seen_is_no_reason_to_refuse():
    found = judge_quietness(TreeUsage(), window_ns=WINDOW)
    assert found.valid
    assert found.foreign_share is None
    assert speed_drift([1, 2, 3]) is None
