"""The pipeline, the ledger over the run and the coloured patch: nothing is lost, nothing sticks out."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.records.results import LedgerStretch
from pitstop.report.content.diff import diff_lines
from pitstop.report.content.environment import environment_facts
from pitstop.report.content.findings import finding_rows
from pitstop.report.html.colored_diff import colored_diff
from pitstop.report.html.ledger_timeline import ledger_timeline
from pitstop.report.html.pipeline import STAGES, pipeline

from .samples import DIFF, hostile_tune, photo_profile, stepless_profile


def test_the_pipeline_holds_all_of_the_step_in_its_order() -> None:
    stages = pipeline(photo_profile())
    assert [stage.category for stage in stages] == [*STAGES, "rest"]
    assert sum(stage.fill for stage in stages) == pytest.approx(100, abs=0.1)
    assert [stage.category for stage in stages if stage.widest] == ["data_wait"]
    assert [stage.category for stage in stages if stage.unused] == ["host_to_device"]
    assert pipeline(stepless_profile()) == ()


def test_the_ledger_over_the_run_stacks_up_to_the_top() -> None:
    plot = ledger_timeline(photo_profile().ledger_timeline, warmup=12)
    assert plot is not None
    assert not plot.has_gaps
    assert [key.category for key in plot.keys] == ["data_wait", "forward", "backward", "optimizer", "unknown"]
    for column in plot.columns:
        assert sum(layer.height for layer in column.layers) == pytest.approx(100, abs=0.2)
        assert column.layers[-1].top == pytest.approx(0, abs=0.2)
        assert 0 <= column.start < column.start + column.width <= 100.01
    assert plot.columns[0].title.startswith("1–7: waiting for data 75 %")


def test_stretches_that_were_not_looked_at_are_said_and_few_make_no_picture() -> None:
    stretches = photo_profile().ledger_timeline[:4]
    blind = (*stretches, LedgerStretch(first_step=29, last_step=35, shares={}))
    plot = ledger_timeline(blind, warmup=0)
    assert plot is not None
    assert plot.has_gaps
    assert plot.columns[-1].layers == ()
    assert ledger_timeline(stretches[:2], warmup=0) is None


@pytest.mark.parametrize("diff", [DIFF, hostile_tune().prescription.diff, ""])
def test_a_colored_patch_is_the_patch(diff: str) -> None:
    lines = colored_diff(diff)
    assert ["".join(piece.text for piece in line.pieces) for line in lines] == [line.text for line in diff_lines(diff)]
    assert [line.kind for line in lines] == [line.kind for line in diff_lines(diff)]


CODE = st.text(alphabet=st.sampled_from("ab1 '\"\\\n#()=:\t\x0cé"), max_size=40)


@given(CODE, CODE)
def test_any_text_comes_back_as_it_was(old: str, new: str) -> None:
    removed, added = old.split("\n"), new.split("\n")
    body = [f"-{line}" for line in removed] + [f"+{line}" for line in added]
    diff = "\n".join(["--- a/x.py", "+++ b/x.py", f"@@ -1,{len(removed)} +1,{len(added)} @@", *body])
    assert ["".join(piece.text for piece in line.pieces) for line in colored_diff(diff)] == diff.split("\n")


def test_python_is_colored_across_lines_and_other_files_are_not() -> None:
    diff = '--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@\n def f():\n-    return 1\n+    """two\n+    lines"""\n'
    kinds = [[piece.kind for piece in line.pieces if piece.kind] for line in colored_diff(diff)[3:7]]
    assert kinds == [["keyword", "name"], ["keyword", "number"], ["string"], ["string"]]
    assert not any(piece.kind for line in colored_diff(diff.replace(".py", ".md")) for piece in line.pieces)


def test_a_finding_says_who_owns_it_and_what_to_ask(each_language: str) -> None:
    first, second = finding_rows(photo_profile())
    assert first.owner == {"en": "algorithm", "zh": "算法"}[each_language]
    assert first.question
    assert first.picture
    assert first.rule_of_thumb
    assert first.reported
    assert (second.owner, second.question, second.picture) == ("", "", "")


def test_the_environment_leaves_out_what_is_not_known() -> None:
    names = [fact.name for fact in environment_facts(photo_profile())]
    assert {"Command", "Versions", "Processor", "Memory", "Threads per operation"} <= set(names)
    assert [fact.name for fact in environment_facts(stepless_profile())] == ["Command", "Folder"]
    old = msgspec.structs.replace(photo_profile(), environment=None)
    assert [fact.name for fact in environment_facts(old)] == ["Command", "Folder", "Versions"]
