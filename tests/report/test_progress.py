"""The lines shown while a tune works."""

from io import StringIO

import pytest
from rich.console import Console

from pitstop.report.progress import TuneProgress, progress, progress_line


def drawn(state: TuneProgress, *, width: int = 100) -> list[str]:
    stream = StringIO()
    Console(file=stream, width=width, force_terminal=False).print(progress(state))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_phase_counts_and_time_left_are_shown() -> None:
    state = TuneProgress(
        phase="screening loader-workers=2", done=7, expected=40, elapsed_s=31.2, eta_s=200.0, last="bf16: slower"
    )
    first, second = drawn(state)
    assert first.startswith("screening loader-workers=2")
    assert second == "trial 7 of about 40 · 31 s so far · about 3 min 20 s left · bf16: slower"


def test_an_unknown_time_left_is_not_invented() -> None:
    state = TuneProgress(phase="baseline", done=0, expected=0, elapsed_s=2.0)
    assert progress_line(state) == "baseline · 2 s so far"
    assert drawn(state)[0].startswith("baseline")


def test_more_trials_than_expected_do_not_run_past_the_end() -> None:
    assert "trial 9 of about 9" in progress_line(TuneProgress(phase="confirm", done=9, expected=6, elapsed_s=9.0))


@pytest.mark.parametrize("width", [20, 40, 80])
def test_it_stays_two_lines_at_any_width_and_obeys_no_escape(width: int) -> None:
    news = "\x1b[2J[bold]" + "very long news " * 20
    lines = drawn(TuneProgress(phase="patched", done=3, expected=4, elapsed_s=80.0, eta_s=9.0, last=news), width=width)
    assert len(lines) == 2
    assert "\x1b" not in "".join(lines)
