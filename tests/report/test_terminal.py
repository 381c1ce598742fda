"""The screens: what is said first, that it fits, and that a program's text cannot take over the terminal."""

import re

import msgspec
import pytest
from rich.cells import cell_len

from pitstop.records.results import ProfileResult, TuneResult
from pitstop.report.terminal import profile_screen, tune_screen

from .samples import confirmed_tune, hostile_tune, photo_profile, photo_tune, starved_tune, stepless_profile, zero_tune

COLOR = re.compile(r"\x1b\[[0-9;]*m")
RESULTS = (photo_profile, stepless_profile, photo_tune, confirmed_tune, zero_tune, starved_tune, hostile_tune)


def screen(result: ProfileResult | TuneResult, *, width: int, color: bool = False) -> str:
    if isinstance(result, TuneResult):
        return tune_screen(result, width=width, color=color)
    return profile_screen(result, width=width, color=color)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
@pytest.mark.parametrize("build", RESULTS)
def test_no_line_is_wider_than_the_terminal(build, width: int, each_language: str) -> None:
    assert max(cell_len(line) for line in screen(build(), width=width).splitlines()) <= width


@pytest.mark.parametrize("build", RESULTS)
def test_without_color_there_is_no_escape_sequence(build) -> None:
    assert "\x1b" not in screen(build(), width=100)


@pytest.mark.parametrize("build", RESULTS)
def test_color_changes_nothing_but_color(build) -> None:
    colored = screen(build(), width=100, color=True)
    plain = screen(build(), width=100)
    assert COLOR.search(colored)
    bare = "\n".join(line.rstrip() for line in COLOR.sub("", colored).split("\n"))
    assert bare == plain


def test_the_environment_does_not_change_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    before = screen(photo_tune(), width=100, color=True)
    for name, value in (("NO_COLOR", "1"), ("COLUMNS", "20"), ("FORCE_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
    assert screen(photo_tune(), width=100, color=True) == before


def test_a_profile_says_the_main_thing_first_and_what_to_do() -> None:
    shown = screen(photo_profile(), width=120)
    assert shown.startswith("62 % of each step waits for data")
    assert "Next: pitstop tune -- python train.py --data photos --epochs 4" in shown
    assert re.search(r"waiting for data +█+▎? +62 % +25.0 ms", shown)
    assert "no device in this machine that PyTorch uses" in shown


def test_the_profile_fits_on_one_screen() -> None:
    assert len(screen(photo_profile(), width=100).splitlines()) <= 40


def test_bars_are_in_proportion_and_never_vanish() -> None:
    bars = {
        line.split("  ")[1].strip(): line.count("█")
        for line in screen(photo_profile(), width=100).splitlines()
        if " ms" in line and ("█" in line or "▏" in line)
    }
    assert bars["waiting for data"] == 27
    assert bars["backward"] == 7
    assert "logging" in bars


def test_a_tune_starts_with_the_patched_speed_up() -> None:
    assert screen(photo_tune(), width=120).startswith("2.31x [2.18, 2.44] as fast: the patched program")


def test_a_tune_shows_everything_that_was_tried_and_what_could_not_be() -> None:
    shown = screen(photo_tune(), width=120)
    for verdict in photo_tune().verdicts:
        assert " + ".join(verdict.treatments) in shown
    for words in ("unsafe", "undecided", "slower", "invalid", "screened once, no claim", "needs a CUDA device"):
        assert words in shown
    assert "+        num_workers=2," in shown
    assert "git apply .pitstop/runs/20261130-142200-train/pitstop.patch" in shown
    assert "OMP_NUM_THREADS=2 python train.py" in shown
    assert "overlay in a user namespace" in shown


def test_the_honest_zero_hands_over_nothing() -> None:
    shown = screen(zero_tune(), width=120)
    assert "none made the program faster" in shown.splitlines()[0]
    assert "git apply" not in shown


def test_a_long_patch_is_cut_and_the_file_named() -> None:
    tune = photo_tune()
    lines = "".join(f"+line {number}\n" for number in range(500))
    long = msgspec.structs.replace(tune.prescription, diff=f"--- a/x\n+++ b/x\n@@ -0,0 +1,500 @@\n{lines}")
    shown = screen(msgspec.structs.replace(tune, prescription=long), width=120)
    assert "line 70" in shown
    assert "line 90" not in shown
    assert "… 423 more lines in .pitstop/runs/20261130-142200-train/pitstop.patch" in shown


def test_markup_and_escapes_of_a_program_are_shown_not_obeyed() -> None:
    shown = screen(hostile_tune(), width=200, color=True)
    assert "[bold]x[/bold]" in shown
    assert "evil.example" not in shown
    assert "\u202e" not in shown
    assert not re.search(r"\x1b(?!\[[0-9;]*m)", shown)
    shown.encode("utf-8")


def test_a_bare_result_still_gives_a_screen(each_language: str) -> None:
    bare = msgspec.structs.replace(
        zero_tune(), verdicts=(), cannot_apply={}, sandbox="", run_folder=None, not_measured=()
    )
    assert screen(msgspec.structs.replace(bare, baseline=stepless_profile()), width=80).strip()
