"""Rows that all renderers share."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.records.results import InterventionResult, PeriodicWork, Shadow, TuneResult
from pitstop.records.steps import CATEGORIES
from pitstop.records.verdicts import Gate, VerdictKind
from pitstop.report.content.account import account_facts, confirm_facts
from pitstop.report.content.diff import diff_lines
from pitstop.report.content.facts import command_line, program_line, run_facts
from pitstop.report.content.findings import finding_rows, hot_rows
from pitstop.report.content.gates import gate_rows
from pitstop.report.content.handover import handover
from pitstop.report.content.labels import label
from pitstop.report.content.ledger import ledger_rows
from pitstop.report.content.verdicts import ORDER, verdict_rows

from .samples import (
    DIFF,
    confirmed_tune,
    gpu_profile,
    photo_profile,
    photo_tune,
    photo_verdicts,
    stepless_profile,
    zero_tune,
)


def with_prescription(**changes: object) -> TuneResult:
    tune = photo_tune()
    return msgspec.structs.replace(tune, prescription=msgspec.structs.replace(tune.prescription, **changes))


def test_the_ledger_is_ordered_by_cost_with_the_unknown_last_and_always_shown() -> None:
    rows = ledger_rows(photo_profile())
    assert [row.category for row in rows[:3]] == ["data_wait", "backward", "forward"]
    assert rows[-1].category == "unknown"
    assert "compile" not in [row.category for row in rows]
    nothing_unknown = msgspec.structs.replace(photo_profile(), ledger={"forward": 1.0, "unknown": 0.0})
    assert [row.share_text for row in ledger_rows(nothing_unknown)] == ["100 %", "0 %"]


def test_a_step_without_a_mean_has_shares_but_no_times() -> None:
    profile = photo_profile()
    profile = msgspec.structs.replace(profile, steps=msgspec.structs.replace(profile.steps, mean_ns=None))
    assert {row.per_step for row in ledger_rows(profile)} == {""}


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_has_a_name(category: str, each_language: str) -> None:
    assert label("category", category) != category or category in (
        "forward",
        "backward",
        "optimizer",
        "communication",
        "checkpoint",
        "evaluation",
        "logging",
        "unknown",
    )


def test_verdicts_are_ordered_by_kind_then_confirmation_then_speed() -> None:
    rows = verdict_rows(photo_verdicts())
    kinds = [ORDER.index(VerdictKind(row.kind)) for row in rows]
    assert kinds == sorted(kinds)
    assert rows[0].change == "loader-workers=2 + fused-optimizer"
    assert [row.change for row in rows if row.kind == "undecided"] == ["loader-workers=8", "channels-last"]


@given(st.permutations(photo_verdicts()))
def test_the_order_of_trying_does_not_change_the_table(verdicts: list) -> None:
    assert verdict_rows(tuple(verdicts)) == verdict_rows(photo_verdicts())


def test_a_screening_number_is_marked_as_no_claim() -> None:
    for row in verdict_rows(photo_verdicts()):
        assert row.claimed == ("confirmed" in row.how)
        if not row.claimed and row.speedup is not None:
            assert row.how == "screened once, no claim"


def test_a_confirmed_verdict_without_an_interval_is_no_claim_either() -> None:
    verdict = msgspec.structs.replace(photo_verdicts()[1], ci=None)
    (row,) = verdict_rows((verdict,))
    assert not row.claimed


def test_a_check_that_could_not_be_made_is_neither_passed_nor_failed() -> None:
    rows = gate_rows(
        (Gate(name="finite", passed=True), Gate(name="finite", passed=False), Gate(name="finite", passed=None))
    )
    assert [row.outcome for row in rows] == ["passed", "failed", "not-made"]
    assert {row.measured for row in rows} == {"–"}


def test_the_same_words_for_two_changes_are_said_once() -> None:
    tune = photo_tune()
    first, second = tune.prescription.treatments[:2]
    handed = handover(with_prescription(explanations=dict.fromkeys((first, second), "Two processes load.")))
    assert handed is not None
    assert [row.words for row in handed.changes[:2]] == ["Two processes load.", f"As {first} above."]


def test_the_handover_tells_how_to_apply_undo_and_start() -> None:
    handed = handover(photo_tune())
    assert handed is not None
    assert handed.apply == "git apply .pitstop/runs/20261130-142200-train/pitstop.patch"
    assert handed.undo == "git apply -R .pitstop/runs/20261130-142200-train/pitstop.patch"
    assert handed.launch == "OMP_NUM_THREADS=2 python train.py --data photos --epochs 4"
    assert "38 steps" in handed.break_even
    assert [row.numerics for row in handed.changes] == ["same distribution", "same math"]


def test_an_unchanged_launch_line_is_not_repeated() -> None:
    handed = handover(with_prescription(env={}))
    assert handed is not None
    assert handed.launch == ""


def test_a_launch_line_alone_needs_no_patch() -> None:
    handed = handover(with_prescription(patch=None, diff=""))
    assert handed is not None
    assert (handed.apply, handed.undo, handed.diff) == ("", "", "")


def test_names_with_spaces_are_quoted_for_the_shell() -> None:
    handed = handover(with_prescription(patch="my runs/p.patch", env={"A": "x y"}, command=("python", "my train.py")))
    assert handed is not None
    assert handed.apply == "git apply 'my runs/p.patch'"
    assert handed.launch == "A='x y' python 'my train.py'"


def test_nothing_is_handed_over_where_nothing_helped() -> None:
    assert handover(zero_tune()) is None


@pytest.mark.parametrize(("steps", "words"), [(None, "not measured"), (0, "first step"), (12_400, "12,400 steps")])
def test_break_even_is_said_or_said_to_be_unknown(steps: int | None, words: str) -> None:
    handed = handover(with_prescription(break_even_steps=steps))
    assert handed is not None
    assert words in handed.break_even


def test_facts_leave_out_what_was_not_measured() -> None:
    assert [fact.name for fact in run_facts(stepless_profile())] == ["Memory", "Processors"]
    assert run_facts(msgspec.structs.replace(stepless_profile(), utilisation={}))[-1].name == "Memory"


def test_a_percentile_of_too_few_steps_is_refused_in_words() -> None:
    profile = photo_profile()
    profile = msgspec.structs.replace(profile, steps=msgspec.structs.replace(profile.steps, p90_ns=None, micro_steps=4))
    steps = run_facts(profile)[0].value
    assert "p90 not stated: too few steps" in steps
    assert "4 micro-steps" in steps


def test_the_program_line_can_be_pasted() -> None:
    assert command_line(("python", "a b.py", "--x=$HOME")) == "python 'a b.py' '--x=$HOME'"
    assert "exit code 3" in program_line(stepless_profile())
    assert "exit code" not in program_line(stepless_profile(), in_part=True), "what pitstop stopped has none of its own"


def test_an_unbounded_ceiling_is_not_printed_as_a_number() -> None:
    finding = msgspec.structs.replace(photo_profile().findings[0], ceiling_speedup=float("inf"), title="")
    (row,) = finding_rows(msgspec.structs.replace(photo_profile(), findings=(finding,)))
    assert row.weight == "62 % of the step"
    assert row.title == "loader-in-main-process"


def test_a_hot_place_says_what_the_step_was_doing_and_is_named_from_the_programs_folder() -> None:
    rows = hot_rows(photo_profile())
    assert (rows[0].category, rows[0].name) == ("data_wait", "waiting for data")
    assert rows[0].where == "photos.py:27 Photos.__getitem__ > PIL/ImageFile.py load"
    assert rows[2].where == "/usr/lib/python3.11/json/decoder.py:353 raw_decode"


def test_a_bar_in_a_hot_place_is_not_taken_for_a_category() -> None:
    (row,) = hot_rows(msgspec.structs.replace(photo_profile(), hot=(Shadow(where="a|b.py:1 f", share=1.0),)))
    assert (row.category, row.where) == ("", "a|b.py:1 f")


def test_a_cpu_quota_that_held_the_program_back_is_said() -> None:
    profile = photo_profile()
    profile = msgspec.structs.replace(profile, utilisation={**profile.utilisation, "throttled_ns": 2_100_000_000})
    assert run_facts(profile)[2].value == "54 % of 2 cores in use · held back 2.10 s by the CPU quota"


def test_only_the_hottest_places_are_listed_hottest_first() -> None:
    places = tuple(Shadow(where=f"a.py:{line}", share=line / 100) for line in range(1, 20))
    rows = hot_rows(msgspec.structs.replace(photo_profile(), hot=places))
    assert [row.where for row in rows][:2] == ["a.py:19", "a.py:18"]
    assert len(rows) == 8


def test_trials_thrown_away_are_counted_apart() -> None:
    assert "3 of them thrown away" in account_facts(photo_tune())[0].value
    assert "thrown away" not in account_facts(msgspec.structs.replace(photo_tune(), invalid_trials=0))[0].value


def test_what_interventions_showed_is_said_and_what_they_did_not_is_left_out() -> None:
    seen = (
        InterventionResult(what="cached-batch", speedup=1.4, outcome="measured"),
        InterventionResult(what="loader-alone", speedup=None, outcome="busy", reason="others used 40 % of the machine"),
    )
    facts = account_facts(msgspec.structs.replace(photo_tune(), interventions=seen))
    assert [fact.name for fact in facts][1] == "Without input"
    assert "1.40x as fast" in facts[1].value
    assert not any(fact.name == "Loader alone" for fact in facts)


def test_the_users_metric_stands_beside_the_confirmed_speed() -> None:
    assert [fact.value for fact in confirm_facts(confirmed_tune().confirm)] == [
        "2.18x [2.05, 2.32] as fast (3 pairs of runs)",
        "0.913, 0.921, 0.917",
        "0.919, 0.914, 0.922",
    ]
    assert confirm_facts(None) == ()


def test_lines_of_a_diff_are_told_apart() -> None:
    kinds = [line.kind for line in diff_lines(DIFF.rstrip("\n"))]
    assert kinds[:3] == ["file", "file", "hunk"]
    assert (kinds.count("add"), kinds.count("del"), kinds.count("hunk"), kinds.count("file")) == (9, 2, 2, 2)
    assert "\n".join(line.text for line in diff_lines(DIFF)) == DIFF


def test_a_removed_line_that_looks_like_a_header_is_a_removed_line() -> None:
    diff = "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- a comment\n+++ x\n same\n\\ No newline at end of file\n--- a/next\n+++ b/next"
    assert [line.kind for line in diff_lines(diff)] == [
        "file",
        "file",
        "hunk",
        "del",
        "add",
        "same",
        "same",
        "file",
        "file",
    ]


def test_no_diff_has_no_lines() -> None:
    assert diff_lines("") == ()


@given(st.text(alphabet="+-@ \n\\1,a", max_size=80))
def test_any_text_can_be_shown_as_a_diff(text: str) -> None:
    assert "\n".join(line.text for line in diff_lines(text)) == text


def test_what_comes_back_is_a_fact_with_its_line() -> None:
    work = PeriodicWork(
        category="checkpoint",
        every=50,
        times=4,
        extra_ns=120_000_000,
        share=0.034,
        where=f"{photo_profile().program.cwd}/train.py:9",
    )
    result = msgspec.structs.replace(photo_profile(), periodic=(work,))
    said = {fact.name: fact.value for fact in run_facts(result)}
    assert said["Comes back"] == "every 50 steps checkpoint: 120 ms more, 3.4 % of all time (train.py:9)"


def test_what_the_kernel_and_the_gpus_say_are_facts() -> None:
    system = {
        "minor_faults_per_s": 1200.4,
        "involuntary_switches_per_s": 37.0,
        "read_bytes_per_s": 3 << 20,
        "written_bytes_per_s": 10.0,
        "io_wait": 0.25,
    }
    gpus = [{"name": "NVIDIA <H200>", "utilisation": 0.37, "throttled_by": ["power cap"]}, {"utilisation": None}]
    result = msgspec.structs.replace(photo_profile(), utilisation={"system": system, "gpus": gpus})
    said = {fact.name: fact.value for fact in run_facts(result)}
    assert said["Kernel"] == (
        "37 forced context switches per second · 1,200 page faults per second · 3.00 MiB per second read from disks · "
        "25 % of one thread waiting for disks"
    )
    assert said["GPUs"] == "NVIDIA <H200>: some kernel ran 37 % of the time · clocks lowered: power cap"
    empty = msgspec.structs.replace(result, utilisation={"system": None, "gpus": []})
    assert not {"Kernel", "GPUs"} & {fact.name for fact in run_facts(empty)}


def test_on_a_gpu_the_ledger_has_the_host_s_share_beside_it_and_says_how_busy_the_device_was():
    rows = {row.category: row for row in ledger_rows(gpu_profile())}
    assert rows["sync"].share == 0, "it is shown because the host waited there"
    assert (rows["sync"].host_share, rows["sync"].median) == ("30 %", "0.000 ms")
    assert any("35 %" in fact.value for fact in run_facts(gpu_profile()))
