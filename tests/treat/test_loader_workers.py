"""Which worker counts are tried, and what is refused."""

from math import inf, isinf

import msgspec
import pytest

from pitstop.records import CannotApply, Ledger, LoaderRoles, Proposal
from pitstop.treat import CannotEdit, View, build_change, propose_all, treatment_named, unified_diff
from treat.golden import ROOT, view_of

WORKERS = treatment_named("loader-workers")


def counts(view: View) -> list[int]:
    answer = WORKERS.propose(view)
    assert not isinstance(answer, CannotApply)
    return [int(item.setting["num_workers"]) for item in plain(answer) if item.setting["role"] == "training"]


def plain(answer: tuple[Proposal, ...]) -> list[Proposal]:
    """The proposals that leave the model's threads alone."""
    return [item for item in answer if not item.setting["threads"]]


def with_cpus(name: str, cpus: int) -> View:
    return msgspec.structs.replace(view_of(name), cpus=cpus)


@pytest.mark.parametrize(
    ("cpus", "expected"), [(1, [1]), (2, [1, 2]), (4, [1, 2, 3, 4]), (6, [1, 2, 4, 5, 6]), (16, [1, 2, 4, 8, 15, 16])]
)
def test_counts_are_powers_of_two_all_cpus_and_all_but_one(cpus, expected):
    assert counts(with_cpus("flat_notebook", cpus)) == expected


def test_fewer_workers_than_now_are_tried_too_with_an_unknown_gain():
    view = with_cpus("flat_notebook", 4)
    loaders = tuple(msgspec.structs.replace(loader, num_workers=3) for loader in view.evidence.loaders)
    view = msgspec.structs.replace(view, evidence=msgspec.structs.replace(view.evidence, loaders=loaders))
    answer = WORKERS.propose(view)
    assert not isinstance(answer, CannotApply)
    assert {item.setting["num_workers"]: isinf(item.ceiling) for item in plain(answer)} == {1: True, 2: True, 4: False}


def test_the_ceiling_is_the_share_of_waiting():
    answer = WORKERS.propose(view_of("flat_notebook"))
    assert not isinstance(answer, CannotApply)
    assert plain(answer)[0].ceiling == pytest.approx(1 / (1 - 0.40))
    assert answer[0].setting["threads"], "the gain of fewer threads with workers is not known beforehand"
    assert answer[0].ceiling == inf


def test_an_empty_ledger_gives_no_ceiling():
    view = msgspec.structs.replace(view_of("flat_notebook"), ledger=Ledger(wall_ns=0, steps=0, categories_ns={}))
    answer = WORKERS.propose(view)
    assert not isinstance(answer, CannotApply)
    assert answer[0].ceiling == inf


def test_events_say_which_loader_trains():
    """The loader in fixed order trains here; by its sampler alone the other would be taken."""
    view = view_of("mnist_argparse")
    view = msgspec.structs.replace(view, roles=LoaderRoles(training=frozenset({2}), evaluation=frozenset({1})))
    proposal = next(item for item in propose_all(view)[0] if item.name == "loader-workers=2")
    diff = unified_diff(build_change((proposal,), view), view.sources, root=ROOT)
    assert "+    test_loader = DataLoader(dataset2" in diff
    assert "train_kwargs" not in "".join(line for line in diff.splitlines() if line.startswith("+"))


def test_evaluation_that_costs_nothing_gets_no_proposal():
    view = view_of("mnist_argparse")
    ledger = Ledger(wall_ns=100, steps=1, categories_ns={**view.ledger.categories_ns, "evaluation": 1, "unknown": 9})
    proposals = WORKERS.propose(msgspec.structs.replace(view, ledger=ledger))
    assert not isinstance(proposals, CannotApply)
    assert {item.setting["role"] for item in proposals} == {"training"}


def with_threads(view: View, threads: int, device: str = "cpu") -> View:
    evidence = view.evidence
    assert evidence.environment is not None
    environment = msgspec.structs.replace(evidence.environment, intra_op_threads=threads)
    forwards = tuple(msgspec.structs.replace(forward, device=device) for forward in evidence.forwards)
    return msgspec.structs.replace(
        view, evidence=msgspec.structs.replace(evidence, environment=environment, forwards=forwards)
    )


@pytest.mark.parametrize(
    ("cpus", "threads", "device", "expected"),
    [
        (2, 2, "cpu", {1: 1, 2: 1}),
        (8, 8, "cpu", {1: 7, 2: 6, 4: 4, 7: 1, 8: 1}),
        (8, 4, "cpu", {7: 1, 8: 1}),  # up to four workers there are cores for everybody
        (2, 1, "cpu", {}),
        (8, 8, "cuda:0", {}),
    ],
)
def test_workers_that_would_share_cores_with_the_model_are_also_tried_with_fewer_threads(
    cpus, threads, device, expected
):
    answer = WORKERS.propose(with_threads(with_cpus("flat_notebook", cpus), threads, device))
    assert not isinstance(answer, CannotApply)
    assert {
        item.setting["num_workers"]: item.setting["threads"] for item in answer if item.setting["threads"]
    } == expected


def test_fewer_threads_with_workers_are_part_of_the_launch_line():
    view = with_threads(with_cpus("flat_notebook", 2), 2)
    proposal = next(item for item in propose_all(view)[0] if item.name == "loader-workers=1,threads=1")
    change = build_change((proposal,), view)
    assert change.env == {"OMP_NUM_THREADS": "1"}
    assert "num_workers=1" in "".join(change.files.values())


def test_an_iterable_dataset_is_refused_with_the_reason():
    answer = WORKERS.propose(view_of("iterable_dataset"))
    assert isinstance(answer, CannotApply)
    assert "IterableDataset" in answer.reason


def spawning(name: str) -> View:
    """The same program where workers import the script anew: the default from Python 3.14."""
    view = view_of(name)
    environment = msgspec.structs.replace(view.evidence.environment, start_method=None, python="3.14.0")
    return msgspec.structs.replace(view, evidence=msgspec.structs.replace(view.evidence, environment=environment))


def test_a_flat_script_gets_a_main_guard_where_workers_import_it():
    view = spawning("crlf")
    proposal = next(item for item in propose_all(view)[0] if item.name == "loader-workers=2")
    text = build_change((proposal,), view).files[f"{ROOT}/before.py"]
    head, _, guarded = text.partition('if __name__ == "__main__":\r\n')
    assert "class Net" in head
    assert all(not line or line.startswith("    ") for line in guarded.split("\r\n"))
    assert "num_workers=2" in guarded
    compile(text, "x", "exec")


def test_the_guard_goes_with_every_other_treatment():
    view = spawning("crlf")
    chosen = list({item.group: item for item in propose_all(view)[0]}.values())
    assert build_change(chosen, view) == build_change(chosen[::-1], view)
    compile(build_change(chosen, view).files[f"{ROOT}/before.py"], "x", "exec")


def test_definitions_between_working_statements_cannot_be_guarded():
    proposals, refused = propose_all(spawning("flat_notebook"))
    assert not [item for item in proposals if item.treatment == "loader-workers"]
    assert "cannot be put around them" in next(item.reason for item in refused if item.treatment == "loader-workers")


def test_a_script_with_a_guard_is_left_alone():
    view = spawning("chinese")
    proposal = next(item for item in propose_all(view)[0] if item.name == "loader-workers=2")
    assert build_change((proposal,), view).files[f"{ROOT}/before.py"].count("__main__") == 1


def test_an_option_that_does_not_reach_the_program_is_set_in_the_source():
    """`bash run.sh` hides the program's own arguments."""
    view = view_of("option_on_line")
    view = msgspec.structs.replace(view, program=msgspec.structs.replace(view.program, argv=("bash", "run.sh")))
    proposal = next(item for item in propose_all(view)[0] if item.name == "loader-workers=2")
    change = build_change((proposal,), view)
    assert not change.replaced_arguments
    assert "num_workers=2" in change.files[f"{ROOT}/before.py"]


def test_a_call_of_something_else_is_not_edited():
    """The sighting says that a class of another name was made there: a factory."""
    view = view_of("flat_notebook")
    loaders = tuple(msgspec.structs.replace(loader, loader_class="lib.FancyLoader") for loader in view.evidence.loaders)
    view = msgspec.structs.replace(view, evidence=msgspec.structs.replace(view.evidence, loaders=loaders))
    answer = WORKERS.propose(view)
    assert not isinstance(answer, CannotApply)
    with pytest.raises(CannotEdit, match="not FancyLoader itself"):
        build_change(answer[:1], view)
