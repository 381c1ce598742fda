"""Clock mode and the end after N steps: no user code runs any more, and little is recorded."""

from collections import Counter

import pytest
from probed import run_probed, run_program

from pitstop.records import EventKind

pytestmark = pytest.mark.torch

HOSTILE = """
import atexit, torch
atexit.register(print, "atexit ran")
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
try:
    while True:
        loss = model(torch.ones(1, 2)).sum() * {factor}
        loss.backward()
        optimizer.step()
except BaseException:
    print("swallowed")
finally:
    print("finally ran")
"""


def test_the_program_ends_in_the_step_and_runs_nothing_of_its_own(tmp_path):
    done = run_probed("-c", HOSTILE.format(factor="1"), folder=tmp_path / "probe", mode="clock", stop_after_steps=5)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert (done.reading.end.reason, done.reading.end.steps, done.reading.end.loss_finite) == ("stopped", 5, True)
    assert Counter(event.kind.name for event in done.main) == {"BACKWARD": 5, "OPTIMIZER": 5}


def test_a_loss_that_is_no_number_is_said(tmp_path):
    code = HOSTILE.format(factor="float('nan')")
    done = run_probed("-c", code, folder=tmp_path / "probe", mode="clock", stop_after_steps=3)
    assert (done.reading.end.loss_finite, done.reading.end.last_loss) == (False, None)


def test_a_clock_costs_nothing_once_it_knows_what_ends_the_steps_and_still_sees_the_last_loss(tmp_path):
    """Backward is watched in the first three steps and the last three; the loss is lost in between, at the eleventh."""
    code = HOSTILE.format(
        factor="(float('nan') if optimizer.state_dict()['param_groups'][0].get('steps', 0) > 10 else 1)"
    )
    code = code.replace(
        "optimizer.step()",
        "optimizer.step(); group = optimizer.param_groups[0]; group['steps'] = group.get('steps', 0) + 1",
    )
    done = run_probed("-c", code, folder=tmp_path / "probe", mode="clock", stop_after_steps=20)
    assert (done.reading.end.reason, done.reading.end.steps, done.reading.faults) == ("stopped", 20, ())
    assert Counter(event.kind.name for event in done.main) == {"BACKWARD": 6, "OPTIMIZER": 20}
    assert done.reading.end.loss_finite is False


def test_a_clock_leaves_patches_of_others_alone(tmp_path):
    code = (
        HOSTILE.format(factor="1")
        .replace(
            "try:",
            """
import torch.autograd
ours = torch.autograd.backward
def users(*args, **kwargs): return ours(*args, **kwargs)
torch.autograd.backward = users
try:""",
        )
        .replace("optimizer.step()", "optimizer.step(); assert torch.autograd.backward is users")
    )
    done = run_probed("-c", code, folder=tmp_path / "probe", mode="clock", stop_after_steps=20)
    assert (done.exit_code, done.reading.end.reason, done.reading.faults) == (0, "stopped", ())


def test_clock_mode_records_what_ends_steps_and_the_epochs(tmp_path):
    done = run_program("plain.py", folder=tmp_path / "probe", mode="clock")
    assert done.exit_code == 0
    assert Counter(event.kind.name for event in done.main) == {
        "BACKWARD": 8,
        "OPTIMIZER": 8,
        "LOADER_ITER": 4,
        "EPOCH_END": 4,
    }
    assert done.reading.stack_samples == ()


def test_clock_mode_counts_forwards_where_nothing_goes_backward(tmp_path):
    done = run_program("inference.py", folder=tmp_path / "probe", mode="clock", stop_after_steps=40)
    assert (done.reading.end.reason, done.reading.end.steps) == ("stopped", 40)
    assert done.count(EventKind.FORWARD) == 40


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_workers_are_seen_and_do_not_stop_the_program(tmp_path, context):
    done = run_program(
        "plain.py", "--workers", 2, "--context", context, "--epochs", 1, folder=tmp_path / "probe", sample_hz=50
    )
    assert (done.exit_code, done.reading.faults) == (0, ())
    assert "loss" in done.stdout
    workers = [process for process in done.reading.processes if process.role == "worker"]
    made = [event for process in workers for event in process.events if event.kind is EventKind.WORKER_FETCH]
    assert len(workers) == 2
    assert sorted((event.arg, event.value) for event in made) == [(0, 8), (0, 8), (1, 8), (1, 8)]
    assert not any(event.kind is EventKind.FORWARD for process in workers for event in process.events)
    loader = done.reading.evidence.loaders[0]
    assert (loader.num_workers, loader.prefetch_factor, loader.multiprocessing_context) == (2, 2, context)


def test_failure_in_training_is_the_programs_own(tmp_path):
    done = run_program("plain.py", "--fail", "--epochs", 1, folder=tmp_path / "probe")
    assert done.exit_code == 1
    assert done.stderr.rstrip().endswith("RuntimeError: as asked")
    assert "pitstop" not in done.stderr
    assert done.reading.end.steps == 4
