"""What pitstop makes of programs as people write them. Read `cases/*/expected.txt`; `golden.py` says how to refresh them."""

import ast
import itertools
import subprocess
from pathlib import Path

import msgspec
import pytest

from pitstop.records import Change, Evidence, Proposal, Site
from pitstop.treat import CannotEdit, View, build_change, propose_all, unified_diff
from treat.golden import NAMES, ROOT, answers_of, one_of_each_group, read_expected, rendered, view_of


def test_there_are_many_ways_to_write_a_training_program():
    assert len(NAMES) >= 25


@pytest.mark.parametrize("name", NAMES)
def test_proposals_reasons_and_diffs_are_as_recorded(name):
    assert rendered(name) == read_expected(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_edited_file_is_python(name):
    view = view_of(name)
    proposals, _ = answers_of(name)
    for proposal in proposals:
        for text in build_change((proposal,), view).files.values():
            ast.parse(text.encode())


@pytest.mark.parametrize("name", NAMES)
def test_git_applies_the_diff_and_gets_the_edited_files(name, tmp_path):
    view = view_of(name)
    proposals, _ = answers_of(name)
    change = build_change(one_of_each_group(proposals), view)
    if not change.files:  # all of it is on the launch line
        assert change.arguments
        return
    for path, text in view.sources.items():
        _at(tmp_path, path).write_bytes(text.encode())
    patch = unified_diff(change, view.sources, root=ROOT)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run(["git", "apply", "-p1"], input=patch.encode(), cwd=tmp_path, check=True)
    for path, text in {**view.sources, **change.files}.items():
        assert _at(tmp_path, path).read_bytes() == text.encode()


@pytest.mark.parametrize("name", NAMES)
def test_any_two_treatments_combine_in_either_order(name):
    view = view_of(name)
    for one, other in itertools.combinations(one_of_each_group(answers_of(name)[0]), 2):
        assert build_change((one, other), view) == build_change((other, one), view)


@pytest.mark.parametrize("name", NAMES)
def test_together_they_keep_what_each_alone_changes_of_the_launch_line(name):
    view = view_of(name)
    chosen = one_of_each_group(answers_of(name)[0])
    together = build_change(chosen, view)
    for proposal in chosen:
        alone = build_change((proposal,), view)
        assert alone.env.items() <= together.env.items()
        assert alone.replaced_arguments.items() <= together.replaced_arguments.items()


@pytest.mark.parametrize("name", NAMES)
def test_no_proposals_change_nothing(name):
    assert build_change((), view_of(name)) == Change()


@pytest.mark.parametrize("name", NAMES)
def test_without_columns_the_edit_is_the_same_or_refused(name):
    """Python 3.9 and 3.10 know lines only; a wrong guess would be worse than none."""
    view = view_of(name)
    lines_only = _lines_only(view)
    for proposal in one_of_each_group(answers_of(name)[0]):
        assert _change_or_none(proposal, lines_only) in (build_change((proposal,), view), None)


def test_without_columns_most_programs_can_still_be_edited():
    found = [(answers_of(name)[0], propose_all(_lines_only(view_of(name)))[0]) for name in NAMES[::4]]
    assert sum(len(lines) for _, lines in found) >= 0.9 * sum(len(full) for full, _ in found)


def test_a_file_that_changed_since_the_run_is_refused():
    """Lines moved: where the optimizer was made, there is now no call or another one."""
    view = view_of("mnist_argparse")
    moved = msgspec.structs.replace(view, sources={path: f"#\n{text}" for path, text in view.sources.items()})
    proposal = next(item for item in answers_of("mnist_argparse")[0] if item.treatment == "fused-optimizer")
    with pytest.raises(CannotEdit):
        build_change((proposal,), moved)


def test_a_file_that_is_not_the_users_is_not_edited():
    view = view_of("mnist_argparse")
    proposal = next(item for item in answers_of("mnist_argparse")[0] if item.treatment == "fused-optimizer")
    with pytest.raises(CannotEdit, match="not one of the project's source files"):
        build_change((proposal,), msgspec.structs.replace(view, sources={}))


def _change_or_none(proposal: Proposal, view: View) -> Change | None:
    try:
        return build_change((proposal,), view)
    except CannotEdit:
        return None


def _lines_only(view: View) -> View:
    return msgspec.structs.replace(view, evidence=_without_columns(view.evidence))


def _without_columns(evidence: Evidence) -> Evidence:
    def plain(sighting):
        stack = tuple(
            Site(path=site.path, line=site.line, function=site.function, frame=site.frame) for site in sighting.stack
        )
        return msgspec.structs.replace(sighting, stack=stack)

    return msgspec.structs.replace(
        evidence,
        loaders=tuple(map(plain, evidence.loaders)),
        optimizers=tuple(map(plain, evidence.optimizers)),
        forwards=tuple(map(plain, evidence.forwards)),
        backwards=tuple(map(plain, evidence.backwards)),
    )


def _at(folder: Path, path: str) -> Path:
    return folder / Path(path).relative_to(ROOT)
