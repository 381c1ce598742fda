"""One spelling per kind of number, and none that says more than was measured."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.messages import choose_language
from pitstop.report import numbers

GIB = 1 << 30


@pytest.mark.parametrize(
    ("elapsed_ns", "text"),
    [
        (0, "0 ns"),
        (850, "850 ns"),
        (999.6, "1.00 µs"),
        (7_400, "7.40 µs"),
        (38_400_000, "38.4 ms"),
        (999_600_000, "1.00 s"),
        (14_200_000_000, "14.2 s"),
        (59_990_000_000, "1 min 0 s"),
        (372_400_000_000, "6 min 12 s"),
        (7_500_000_000_000, "2 h 5 min"),
    ],
)
def test_a_duration_is_said_in_the_unit_that_people_would_choose(elapsed_ns: float, text: str) -> None:
    assert numbers.duration(elapsed_ns) == text


@pytest.mark.parametrize(
    ("elapsed_ns", "text"),
    [(0, "0.000 ms"), (120, "<0.001 ms"), (412_000, "0.412 ms"), (38_400_000, "38.4 ms"), (1_240_000_000, "1240 ms")],
)
def test_a_time_per_step_is_always_in_milliseconds(elapsed_ns: float, text: str) -> None:
    assert numbers.milliseconds(elapsed_ns) == text


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (1024 * 1024 - 1, "1.00 MiB"),
        (round(1.46 * GIB), "1.46 GiB"),
        (412 << 20, "412 MiB"),
        (5000 * GIB, "4.88 TiB"),
        (3_000_000 * GIB, "2930 TiB"),
    ],
)
def test_bytes_are_in_binary_units(num_bytes: int, text: str) -> None:
    assert numbers.bytes_text(num_bytes) == text


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (0.0, "0 %"),
        (0.0002, "<0.1 %"),
        (0.02, "2 %"),
        (0.0414, "4.1 %"),
        (0.618, "62 %"),
        (0.997, "99.7 %"),
        (0.99999, ">99.9 %"),
        (1.0, "100 %"),
        (1.37, "137 %"),
    ],
)
def test_a_share_is_a_percentage(part: float, text: str) -> None:
    assert numbers.share(part) == text


@given(st.floats(min_value=0, max_value=1, exclude_min=True, exclude_max=True))
def test_neither_nothing_nor_everything_is_said_of_a_part(part: float) -> None:
    assert numbers.share(part) not in ("0 %", "100 %")


@pytest.mark.parametrize(
    ("speedup", "ci", "text"),
    [
        (2.31, (2.18, 2.44), "2.31x [2.18, 2.44]"),
        (2.3, (2.3, 2.6), "2.30x [2.30, 2.60]"),
        (2.31, (2.1899, 2.4301), "2.31x [2.18, 2.44]"),
        (1.006, (1.0012, 1.0111), "1.006x [1.001, 1.012]"),
        (12.34, (11.96, 12.71), "12.3x [11.9, 12.8]"),
        (123.4, (100.2, 151.1), "123x [100, 152]"),
        (0.71, None, "0.71x"),
    ],
)
def test_a_ratio_carries_its_interval(speedup: float, ci: tuple[float, float] | None, text: str) -> None:
    assert numbers.ratio(speedup, ci) == text


@given(st.floats(0.02, 500), st.floats(0.0, 0.5), st.floats(0.0, 0.5))
def test_the_interval_in_words_holds_the_interval_measured(speedup: float, below: float, above: float) -> None:
    low, high = speedup * (1 - below), speedup * (1 + above)
    said = re.search(r"\[([\d.]+), ([\d.]+)\]", numbers.ratio(speedup, (low, high)))
    assert said is not None
    assert float(said[1]) <= low
    assert float(said[2]) >= high


def test_a_gain_that_is_not_certain_is_never_rounded_to_one() -> None:
    """0.999 must not be read as "at least 1"."""
    assert numbers.interval((0.999, 1.3)) == "[0.99, 1.30]"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (4.0, "4"),
        (0.0041, "0.0041"),
        (1.23456e-8, "1.23e-08"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_a_gate_value_of_any_size_can_be_said(value: float | None, text: str) -> None:
    assert numbers.measured(value) == text


@pytest.mark.parametrize(
    ("elapsed_s", "text"), [(-1.0, "0 s"), (8.4, "8 s"), (59.7, "1 min 0 s"), (372.0, "6 min 12 s")]
)
def test_a_counting_time_has_no_fractions(elapsed_s: float, text: str) -> None:
    assert numbers.rough_duration(elapsed_s) == text


def test_chinese_has_its_own_spelling() -> None:
    choose_language("zh")
    assert numbers.share(0.62) == "62%"
    assert numbers.ratio(2.31, (2.18, 2.44)) == "2.31 倍 [2.18, 2.44]"
    assert numbers.duration(372_400_000_000) == "6 分 12 秒"
    assert numbers.duration(7_500_000_000_000) == "2 小时 5 分"
