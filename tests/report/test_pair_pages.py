"""The reports of a gate and of a comparison: verdict first, what it rests on, nothing claimed beyond it."""

import msgspec
import pytest

from pitstop.messages import LANGUAGES, choose_language
from pitstop.records.results import SCHEMA, CompareResult, CompareRun, GateMemory, GateResult, GateSide
from pitstop.report.json import from_json, to_json
from pitstop.report.markdown_pair import compare_markdown, gate_markdown
from pitstop.report.terminal import compare_screen, gate_screen


def gate_result(**changes) -> GateResult:
    result = GateResult(
        schema=SCHEMA,
        command=("python", "train.py"),
        cwd="/home/ana/photos",
        base=GateSide(
            commit="0123456789abcdef" * 2, title="Train", step_ns=10_000_000, ledger_ns={"forward": 4_000_000, "gc": 1}
        ),
        head=GateSide(
            commit=None, title="", step_ns=13_000_000, ledger_ns={"forward": 4_000_000, "data_wait": 3_000_000}
        ),
        differing=("train.py",),
        caveats=(),
        verdict="slower",
        speedup=0.77,
        ci=(0.74, 0.80),
        pairs=6,
        further_pairs=0,
        detectable=1.05,
        margin=0.03,
        memory=(GateMemory(of="process-tree", ratio=1.01, ci=(1.0, 1.02), margin=0.1, worse=False),),
        passed=False,
        strict=False,
        invalid_trials=1,
        trials=13,
        wall_s=98.0,
        sandbox="every write lands in a layer that is thrown away",
        run_folder="/home/ana/photos/.pitstop/runs/20261201-140311-gate-train",
    )
    return msgspec.structs.replace(result, **changes)


def test_a_gate_that_fails_says_so_first_with_the_interval():
    screen = gate_screen(gate_result())
    assert screen.startswith("Failed: the head is slower than its base by more than 3 % with certainty: 0.77x")
    assert "[0.74, 0.80]" in screen.splitlines()[0] + screen.splitlines()[1]
    assert "0123456789ab Train" in screen
    assert "the working tree" in screen
    assert "1 not valid" in screen


def test_what_changed_most_comes_first_and_trifles_are_left_out():
    text = gate_markdown(gate_result())
    rows = [line for line in text.splitlines() if line.startswith("| ") and " ms " in line]
    assert rows[0].startswith("| waiting for data | 0.000 ms | 3.00 ms | +75.0 % |")
    assert len(rows) == 2
    assert "no claim" in text


def test_an_undecided_gate_says_what_it_could_not_have_missed():
    text = gate_markdown(gate_result(verdict="undecided", passed=True, ci=(0.9, 1.1), further_pairs=14, detectable=1.2))
    assert "Passed: not decided" in text
    assert "1.20x" in text
    assert "14 more pairs" in text


def test_memory_that_grew_is_a_reason_of_its_own():
    grown = GateMemory(of="device", ratio=1.5, ci=(1.4, 1.6), margin=0.1, worse=True)
    text = gate_markdown(gate_result(verdict="equivalent", memory=(grown,)))
    assert "Failed" in text
    assert "Peak device memory of the head is 1.5" in text


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("verdict", ["faster", "slower", "equivalent", "undecided"])
def test_every_verdict_reads_in_both_languages(lang, verdict):
    choose_language(lang)
    screen = gate_screen(gate_result(verdict=verdict), width=60)
    assert "{" not in screen
    assert max(map(len, screen.splitlines())) <= 60


def test_hostile_names_stay_harmless():
    text = gate_markdown(
        gate_result(differing=("a\x1b[31m|b`.py",), base=GateSide(commit="ab" * 20, title="<b>\x07", step_ns=1))
    )
    assert "\x1b" not in text
    assert "\x07" not in text


def test_a_gate_is_read_back_as_it_was_written():
    assert from_json(to_json(gate_result()), kind=GateResult) == gate_result()


def compared() -> CompareResult:
    one = CompareRun(
        run_folder="/r/a",
        command=("python", "train.py"),
        torch="2.13.0",
        step_ns=10_000_000,
        samples_per_step=32.0,
        ledger_ns={"forward": 10_000_000},
        peak_bytes=1 << 30,
        findings=("The optimizer updates its tensors one by one",),
    )
    other = msgspec.structs.replace(
        one, run_folder="/r/b", step_ns=5_000_000, ledger_ns={"forward": 5_000_000}, findings=()
    )
    return CompareResult(schema=SCHEMA, a=one, b=other, ratio=2.0, by_sample=True, differences=("They differ.",))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_comparison_says_that_it_proves_nothing_and_what_would(lang):
    choose_language(lang)
    for text in (compare_screen(compared()), compare_markdown(compared())):
        assert "50 %" in text or "50%" in text
        assert "pitstop gate" in text
        assert "{" not in text
    assert "The optimizer updates" in compare_screen(compared())
