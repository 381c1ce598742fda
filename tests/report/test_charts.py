"""The geometry of the charts: places in percent, kept inside, and in the order of the values they show."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.records.results import Patched
from pitstop.report.content.ledger import ledger_rows
from pitstop.report.content.verdicts import verdict_rows
from pitstop.report.html.forest import forest_plot
from pitstop.report.html.ledger_bar import ledger_bar
from pitstop.report.html.scale import ratio_scale, round_step
from pitstop.report.html.step_plot import MOST_BARS, step_plot
from pitstop.report.html.time_saved import time_saved
from pitstop.report.html.utilisation_plot import MOST_POINTS, utilisation_plot

from .samples import photo_profile, photo_verdicts, step_times_ns

ratios = st.lists(st.floats(0.02, 90), min_size=1, max_size=12)


@given(ratios)
def test_every_value_lies_on_the_axis_in_its_order(values: list[float]) -> None:
    scale = ratio_scale(values)
    places = [scale.place(value) for value in sorted([*values, 1.0])]
    assert places == sorted(places)
    assert all(0 < place < 100 for place in places)


@given(ratios)
def test_ticks_are_round_apart_and_hold_one(values: list[float]) -> None:
    scale = ratio_scale(values)
    ticks = scale.ticks()
    places = [scale.place(tick) for tick in ticks]
    assert 1.0 in ticks
    assert len(ticks) <= 5
    assert all(later - earlier >= 9 for earlier, later in pairwise(places))


@pytest.mark.parametrize("values", [[], [math.inf], [math.nan], [0.0], [-1.0], [1e9]])
def test_values_that_are_no_ratio_do_not_break_the_axis(values: list[float]) -> None:
    scale = ratio_scale(values)
    assert 0 < scale.place(1.0) < 100


@given(st.floats(1e-3, 1e12), st.integers(1, 10))
def test_a_round_step_fits_at_most_so_often(span: float, most: int) -> None:
    step = round_step(span, most=most)
    assert span / step <= most * (1 + 1e-9)
    assert span / step > most / 5


def test_verdicts_without_a_speed_have_no_mark_and_screened_ones_no_interval() -> None:
    rows = verdict_rows(photo_verdicts())
    forest = forest_plot(rows, margin=0.02)
    for row, mark in zip(rows, forest.marks, strict=True):
        assert (mark is None) == (row.speedup is None)
        if mark is not None:
            assert (mark.low is None) == (row.ci is None)
            assert mark.claimed == row.claimed
            assert (mark.at > forest.one) == (row.speedup > 1)
            if mark.low is not None and mark.high is not None:
                assert mark.low <= mark.at <= mark.high
    assert forest.margin_low < forest.one < forest.margin_high


def test_no_verdicts_still_have_an_axis() -> None:
    assert forest_plot((), margin=0.02).marks == ()


def test_the_parts_of_the_ledger_fill_the_bar_without_overlap() -> None:
    segments = ledger_bar(ledger_rows(photo_profile()))
    for earlier, later in pairwise(segments):
        assert later.start == pytest.approx(earlier.start + earlier.width, abs=0.01)
    assert segments[-1].start + segments[-1].width == pytest.approx(100, abs=0.01)
    assert [part.label for part in segments[:4]] == ["62 %", "17 %", "14 %", ""]


def test_the_step_plot_shades_warm_up_and_cuts_what_is_far_higher() -> None:
    plot = step_plot(step_times_ns(), warmup=12)
    assert plot is not None
    assert plot.warmup == pytest.approx(100 * 12 / 412, abs=0.01)
    assert plot.highest_text == "620 ms"
    assert [bar.warm for bar in plot.bars[:5]] == [True, True, True, True, False]
    assert plot.bars[0].cut
    assert plot.bars[0].highest == 100
    assert 50 < plot.mean < 100


@given(st.lists(st.integers(1, 10**12), min_size=4, max_size=700), st.integers(0, 800))
def test_every_step_is_in_exactly_one_bar_inside_the_plot(times: list[int], warmup: int) -> None:
    plot = step_plot(tuple(times), warmup=warmup)
    assert plot is not None
    assert len(plot.bars) <= MOST_BARS
    covered = [step for bar in plot.bars for step in range(bar.first, bar.last + 1)]
    assert covered == list(range(1, len(times) + 1))
    assert all(0 <= bar.mean <= bar.highest <= 100 for bar in plot.bars)
    assert 0 <= plot.warmup <= 100


@pytest.mark.parametrize("times", [(), (1, 2, 3), (0, 0, 0, 0)])
def test_too_few_steps_have_no_plot(times: tuple[int, ...]) -> None:
    assert step_plot(times, warmup=0) is None


def test_the_patched_time_is_a_part_of_the_original() -> None:
    saved = time_saved(Patched(speedup=2.0, ci=(1.6, 2.5), pairs=6, how="end-to-end"))
    assert saved is not None
    assert (saved.before, saved.after, saved.low, saved.high) == (100, 50, 40, 62.5)
    assert saved.after_text == "50 %"
    assert saved.certain


def test_a_slower_program_is_the_longer_bar() -> None:
    saved = time_saved(Patched(speedup=0.8, ci=(0.75, 0.9), pairs=6, how="end-to-end"))
    assert saved is not None
    assert saved.before == 75
    assert saved.after > saved.before
    assert saved.high == 100
    assert not saved.certain
    assert time_saved(None) is None


def test_the_timeline_becomes_a_line_across_the_box() -> None:
    plot = utilisation_plot([[2.0, 0.0], [3.0, 1.5], [4.0, 0.25]])
    assert plot is not None
    assert plot.points == "0,100 50,0 100,75"
    assert plot.end_text == "2.00 s"
    many = utilisation_plot([[float(at), 0.5] for at in range(5000)])
    assert many is not None
    assert len(many.points.split()) <= MOST_POINTS


@pytest.mark.parametrize("timeline", [None, "x", [], [[0, 1]], [[0, 1], [0, 1], [0, 1]], [["a", 1], [1], 3, [1, None]]])
def test_a_timeline_that_is_none_is_not_drawn(timeline: object) -> None:
    assert utilisation_plot(timeline) is None
