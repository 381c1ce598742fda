"""The progress of a tune on a stream that is no terminal."""

import re

from pitstop.cli.progress import tune_progress
from pitstop.tune.search_progress import Progress


def shown(capsys, *states: Progress | None) -> list[str]:
    with tune_progress() as show:
        for state in states:
            show("working", state)
    return capsys.readouterr().err.splitlines()


def test_a_tune_that_goes_on_counts_the_time_before_it(capsys):
    before, later = (
        Progress(done=done, expected=16, phase="confirming", eta_ns=10**10, spent_ns=spent)
        for done, spent in ((10, 75 * 10**9), (11, 80 * 10**9))
    )
    started, went_on, ended = shown(capsys, None, before, None)
    assert "0 s so far" in started
    assert "1 min 15 s so far" in went_on
    assert "1 min 15 s so far" in ended
    again = shown(capsys, before, later)
    assert re.search(r"trial 11 of about 16 · 1 min 15 s so far", again[1]), (
        "the clock of this process, not twice the trials'"
    )


def test_a_new_tune_begins_at_nothing(capsys):
    (line,) = shown(capsys, Progress(done=0, expected=9, phase="screening", eta_ns=None))
    assert "0 s so far" in line
