"""When keeping freed memory is worth a trial, and what is refused."""

from math import inf, isinf

import msgspec
import pytest

from pitstop.records import CannotApply, Ledger
from pitstop.treat import View, build_change, launch_line, treatment_named
from treat.golden import LEDGER, view_of

MALLOC = treatment_named("malloc-reuse")
STEP_NS = 10_000_000


def view_with(*, steps: int = 10, **fields: object) -> View:
    """A program without workers whose step takes 10 ms, and whose process says `fields`."""
    view = view_of("flat_notebook")
    assert view.evidence.environment is not None
    environment = msgspec.structs.replace(view.evidence.environment, **fields)
    loaders = tuple(msgspec.structs.replace(loader, num_workers=0) for loader in view.evidence.loaders)
    evidence = msgspec.structs.replace(view.evidence, environment=environment, loaders=loaders)
    ledger = Ledger(wall_ns=steps * STEP_NS, steps=steps, categories_ns=LEDGER.categories_ns)
    return msgspec.structs.replace(view, evidence=evidence, ledger=ledger)


def refusal(view: View) -> str:
    answer = MALLOC.propose(view)
    assert isinstance(answer, CannotApply)
    return answer.reason


@pytest.mark.parametrize(
    ("faults", "ceiling"), [(50, 1 / (1 - 0.01)), (2500, 2), (5000, inf), (8000, inf), (None, inf)]
)
def test_the_ceiling_is_the_time_that_page_faults_may_take(faults, ceiling):
    answer = MALLOC.propose(view_with(page_faults_per_step=faults))
    assert not isinstance(answer, CannotApply)
    assert answer[0].ceiling == pytest.approx(ceiling)


def test_faults_of_workers_are_counted_by_nobody():
    view = view_with(page_faults_per_step=100)
    loaders = tuple(msgspec.structs.replace(loader, num_workers=2) for loader in view.evidence.loaders)
    view = msgspec.structs.replace(view, evidence=msgspec.structs.replace(view.evidence, loaders=loaders))
    answer = MALLOC.propose(view)
    assert not isinstance(answer, CannotApply)
    assert isinf(answer[0].ceiling)


def test_a_program_that_reuses_its_memory_has_nothing_to_gain():
    assert "about 49 page faults" in refusal(view_with(page_faults_per_step=49))


def test_faults_of_huge_pages_are_dear_however_few():
    answer = MALLOC.propose(view_with(page_faults_per_step=5, huge_pages="always"))
    assert not isinstance(answer, CannotApply)
    assert isinf(answer[0].ceiling)
    assert "about 5 page faults" in refusal(view_with(page_faults_per_step=5, huge_pages="madvise"))


def test_an_empty_ledger_decides_nothing():
    assert not isinstance(MALLOC.propose(view_with(page_faults_per_step=49, steps=0)), CannotApply)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"allocator": None}, "not known"),
        ({"allocator": "jemalloc"}, "from jemalloc"),
        ({"allocator_settings": ("GLIBC_TUNABLES", "MALLOC_ARENA_MAX")}, "GLIBC_TUNABLES, MALLOC_ARENA_MAX"),
    ],
)
def test_another_allocator_and_a_tuned_one_are_left_alone(fields, said):
    assert said in refusal(view_with(page_faults_per_step=5000, **fields))


def test_both_variables_stand_on_the_launch_line():
    view = view_with(page_faults_per_step=5000)
    answer = MALLOC.propose(view)
    assert not isinstance(answer, CannotApply)
    change = build_change(answer, view)
    assert not change.files
    _argv, environment = launch_line(view.program, change)
    assert environment["MALLOC_MMAP_MAX_"] == "0"
    assert int(environment["MALLOC_TRIM_THRESHOLD_"]) == 1 << 40
