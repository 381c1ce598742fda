"""Whole runs of the original and the patched program: how many, in which order, and what is said when they do not fit."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from pitstop.api.patched import measure_patched, slower_as_a_whole
from pitstop.api.tune import _without_choice
from pitstop.records import Change, Numerics
from pitstop.records.results import Patched
from pitstop.tune.search_actions import Finish

PATCH = Change(env={"FAST": "1"})
FINISH = Finish(
    chosen=("fast",),
    speedup=3.0,
    ci=(2.9, 3.1),
    pairs=4,
    numerics=Numerics.EXACT,
    gates=(),
    verdicts=(),
    reason="confirmed",
    further_pairs=None,
    trials=9,
    invalid_trials=0,
    spent_ns=1,
)


class Bench:
    """Runs that take `original_s` and `patched_s`, by a clock of their own; one longer than its time-out is cut off."""

    def __init__(self, *, original_s: float, patched_s: float, exit_code: int = 0):
        self.takes_s = {True: patched_s, False: original_s}
        self.exit_code = exit_code
        self.order, self.spent_s = "", 0.0

    def run(self, label, *, change, probe, timeout_s):
        assert probe is None
        treated = change == PATCH
        assert label == ("whole-patched" if treated else "whole-original")
        self.order += "P" if treated else "O"
        took_s = min(self.takes_s[treated], timeout_s)
        self.spent_s += took_s
        cut_off = took_s < self.takes_s[treated]
        run = SimpleNamespace(started_ns=0, ended_ns=took_s * 1e9, timed_out=cut_off, exit_code=self.exit_code)
        return run, Path()


@pytest.mark.parametrize(
    ("left_s", "order"), [(50, ""), (72, "POOP"), (104, "POOP"), (106, "POOPPO"), (1000, "POOPPOOP")]
)
def test_as_many_pairs_as_fit_the_patched_program_first(left_s, order):
    bench = Bench(original_s=25.0, patched_s=10.0)
    patched, missing = measure_patched(bench, change=PATCH, finish=FINISH, left_s=left_s)
    if order:
        assert (bench.order, missing) == (order, ())
        assert (patched.how, patched.pairs, patched.speedup) == ("end-to-end", len(order) // 2, pytest.approx(2.5))
        assert bench.spent_s <= left_s
    else:
        assert (patched.how, patched.speedup, len(missing)) == ("step-clock", 3.0, 1)
        assert bench.spent_s <= 0.55 * left_s, "the rest would not have been enough"


def test_a_patched_program_that_fails_by_itself_leaves_the_step_clocks_figure():
    bench = Bench(original_s=25.0, patched_s=10.0, exit_code=1)
    patched, missing = measure_patched(bench, change=PATCH, finish=FINISH, left_s=1000)
    assert (patched.how, len(missing), bench.order) == ("step-clock", 1, "P")


@pytest.mark.parametrize(
    ("patched", "slower"),
    [
        (Patched(speedup=0.87, ci=(0.8, 0.94), pairs=4, how="end-to-end"), True),
        (Patched(speedup=0.87, ci=(0.5, 1.51), pairs=2, how="end-to-end"), False),
        (Patched(speedup=1.2, ci=(1.1, 1.3), pairs=4, how="end-to-end"), False),
        (None, False),
    ],
)
def test_a_whole_program_is_slower_only_where_the_interval_says_so(patched, slower):
    assert slower_as_a_whole(patched) == slower


def test_what_makes_the_whole_program_slower_is_not_handed_over_and_the_reason_has_both_figures():
    nothing = _without_choice(FINISH, Patched(speedup=0.87, ci=(0.8, 0.94), pairs=4, how="end-to-end"))
    assert (nothing.chosen, nothing.speedup, nothing.ci) == ((), 1.0, None)
    assert "3.00x [2.90, 3.10]" in nothing.reason
    assert "0.87x [0.80, 0.94]" in nothing.reason
    assert "--job-steps" in nothing.reason
