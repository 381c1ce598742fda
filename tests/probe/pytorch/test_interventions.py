"""Throw-away runs: the same batch again and again, and the loader alone."""

import json

import pytest
from probed import run_program

from pitstop.records import EventKind

pytestmark = pytest.mark.torch
TRAINING = 2  # the loader made second


def intervened(tmp_path, what: str, *arguments: int, loaders=(TRAINING,), mode: str = "clock", **more):
    asked = {"what": what, "loaders": list(loaders), **more}
    return run_program("batches.py", *arguments, folder=tmp_path / "probe", mode=mode, intervention=asked)


@pytest.mark.parametrize("workers", [0, 2])
def test_the_first_batch_comes_back_as_it_was_whatever_the_program_did_to_it(tmp_path, workers):
    probed = intervened(tmp_path, "cached-batch", workers, 3)
    assert probed.exit_code == 0, probed.stderr
    assert probed.reading.faults == ()
    said = json.loads(probed.stdout)
    assert len(said["seen"]) == 12, "as many batches in an epoch as the loader has"
    assert said["seen"] == [[24.0, 6.0, 1]] * 12
    assert probed.count(EventKind.OPTIMIZER) == 12


def test_loaders_that_do_not_train_go_on_as_they_are(tmp_path):
    said = json.loads(intervened(tmp_path, "cached-batch", 0, 2).stdout)
    assert said["made"] == 3 + 2 * 12, "one batch for training, and the other loader's samples in each epoch"


def test_without_an_intervention_nothing_is_different(tmp_path):
    probed = run_program("batches.py", 0, 1, folder=tmp_path / "probe", mode="clock")
    assert [seen[0] for seen in json.loads(probed.stdout)["seen"]] == [24.0, 60.0, 96.0, 132.0]


@pytest.mark.parametrize("workers", [0, 2])
def test_the_loader_alone_is_emptied_over_several_epochs_and_the_program_ends(tmp_path, workers):
    probed = intervened(tmp_path, "loader-alone", workers, 3, batches=10, warm=2, limit_ns=60 * 10**9)
    assert probed.exit_code == 0, probed.stderr
    assert probed.stdout == "", "none of the program's code runs after it"
    (drained,) = probed.reading.evidence.drained
    assert (drained.loader, drained.batches) == (TRAINING, 10)
    assert drained.wall_ns > 0
    assert probed.reading.end.reason == "stopped"


def test_time_may_end_it_but_not_before_a_few_batches(tmp_path):
    probed = intervened(tmp_path, "loader-alone", 0, 3, batches=10_000_000, warm=0, limit_ns=0)
    assert probed.reading.evidence.drained[0].batches == 3
