"""The report of a fit: on the screen, as Markdown, as a page, and back from its JSON, in both languages."""

import msgspec
import pytest

from pitstop.messages import choose_language
from pitstop.records import Gate
from pitstop.records.results import SCHEMA, FitResult, FitSize, NotMeasured, ProgramResult
from pitstop.report.html import fit_html
from pitstop.report.json import from_json, to_json
from pitstop.report.markdown_fit import fit_markdown
from pitstop.report.terminal import fit_screen

RESULT = FitResult(
    schema=SCHEMA,
    program=ProgramResult(
        command=("python", "train.py"), cwd="/p", exit_code=1, python="3.11.7", torch="2.13", error="<b>MemoryError</b>",
        out_of_memory=True,
    ),
    own_batch=256, own_fits=False, batch=64, accumulate=4, limit="address-space", limit_bytes=2 << 30,
    sizes=(
        FitSize(batch=256, accumulate=1, outcome="out-of-memory", peak_bytes=None, peak_device_bytes=None, ns_per_sample=None, runs=0),
        FitSize(batch=256, accumulate=1, outcome="fits", peak_bytes=3 << 30, peak_device_bytes=None, ns_per_sample=4e7, runs=3, lifted=True),
        FitSize(batch=64, accumulate=4, outcome="fits", peak_bytes=1 << 30, peak_device_bytes=None, ns_per_sample=5e7, runs=3),
    ),
    numerics="same-math", numerics_reason="", check=Gate(name="step-losses", passed=True, measured=1e-7, limit=0.01),
    speedup=0.8, ci=(0.7, 0.9), own_lifted=True, rival=32, rival_verdict="equivalent", rival_speedup=1.0, rival_ci=(0.99, 1.01),
    to_the_end=None, reason="", diff="--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-x\n+if '<script>':\n", patch="/p/patch.diff",
    command=("python", "train.py", "--batch-size", "64"), env={}, suggestion="",
    not_measured=(NotMeasured(what="to the end", why="no time"),), wall_s=60.0, trials=9, sandbox="overlay", run_folder="/p/run",
)  # fmt: skip


@pytest.fixture(params=["en", "zh"], autouse=True)
def _language(request):
    choose_language(request.param)
    yield
    choose_language("en")


def test_every_report_says_the_batch_the_edit_and_the_time_given_up():
    for text in (fit_screen(RESULT, width=100), fit_markdown(RESULT), fit_html(RESULT)):
        assert "64 x 4" in text
        assert "--batch-size 64" in text
        assert "0.80" in text
        assert "[0.70, 0.90]" in text.replace("\\", "")
        assert "git apply /p/patch.diff" in text


def test_text_of_the_program_is_no_markup_of_the_page():
    assert "<script>':" not in fit_html(RESULT)


def test_nothing_that_fits_and_what_is_to_be_written_by_hand_are_said():
    nothing = msgspec.structs.replace(RESULT, batch=None, diff="", patch=None, command=())
    assert "256" in fit_screen(nothing).splitlines()[0]
    by_hand = msgspec.structs.replace(RESULT, suggestion="loss.backward()\n", diff="", patch=None)
    for text in (fit_screen(by_hand), fit_markdown(by_hand), fit_html(by_hand)):
        assert "loss.backward()" in text


def test_json_comes_back_as_it_was():
    assert from_json(to_json(RESULT), kind=FitResult) == RESULT
