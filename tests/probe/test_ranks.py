"""All ranks end at the same step: agreed upon through files, no collective, no clock in common."""

import subprocess
import sys

import pytest
from probed import plain_env

from pitstop.measure.probe_folder import ProbeConfig, prepare_probe, read_probe
from pitstop.probe.ranks import AHEAD_STEPS, Ranks, identity
from pitstop.records import EventKind

PROGRAM = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(STEPS):
    loss = model(torch.randn(4, 8)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
total = torch.ones(1)
dist.all_reduce(total)
dist.barrier()
if dist.get_rank() == 0:
    print("all", int(total))
dist.destroy_process_group()
"""


def raise_fault(_where, error):
    raise error


def rank(folder, number, size=2):
    return Ranks(str(folder), raise_fault, who=lambda: (number, size, "gloo"))


def test_the_first_whose_time_is_over_names_the_step_for_all(tmp_path):
    first, second = rank(tmp_path, 0), rank(tmp_path, 1)
    assert not first.is_over(9, due=False)
    assert not second.is_over(10, due=True)  # names the step
    assert not first.is_over(10, due=True)  # too late to name another
    for count in range(11, 10 + AHEAD_STEPS):
        assert not first.is_over(count, due=True)
        assert not second.is_over(count, due=True)
    assert first.is_over(10 + AHEAD_STEPS, due=False)
    assert second.is_over(10 + AHEAD_STEPS, due=True)


def test_alone_a_process_ends_when_it_is_due(tmp_path):
    for who in ((None, 1, None), (1, 2, None)):  # alone, and without a process group
        ranks = Ranks(str(tmp_path), raise_fault, who=lambda who=who: who)
        assert not ranks.is_over(5, due=False)
        assert ranks.is_over(5, due=True)
        assert ranks.meet(wait_s=0)
    assert not list(tmp_path.iterdir())


def test_ranks_wait_for_each_other_at_the_end(tmp_path, monkeypatch):
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert not rank(tmp_path, 0).meet(wait_s=0)
    assert rank(tmp_path, 1).meet(wait_s=0)


def test_a_launcher_says_who_a_process_is(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert identity() == (1, 3, None)
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert identity() == (None, 1, None)


@pytest.mark.parametrize(
    "stop",
    [{"stop_after_steps": 7}, {"stop_after_ns": 50_000_000, "stop_min_steps": 5}, {}],
    ids=["steps", "time", "own"],
)
def test_two_gloo_ranks_under_torchrun_end_at_the_same_step(tmp_path, stop):
    folder = tmp_path / "probe"
    folder.mkdir()
    script = tmp_path / "train.py"
    script.write_text(PROGRAM.replace("STEPS", "1000000" if stop else "6"))
    config = ProbeConfig(mode="clock" if stop else "profile", project_root=str(tmp_path), **stop)
    env = plain_env()
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)],
        cwd=tmp_path, env={**env, **prepare_probe(folder, config, env)}, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert ("all 2" in done.stdout) == (not stop)
    reading = read_probe(folder, project_root=str(tmp_path))
    ranks = sorted((one for one in reading.processes if one.role in {"main", "rank"}), key=lambda one: one.rank)
    assert [one.rank for one in ranks] == [0, 1]
    steps = [sum(event.kind is EventKind.OPTIMIZER for event in one.events) for one in ranks]
    assert steps[0] == steps[1] >= (stop.get("stop_after_steps") or stop.get("stop_min_steps") or 6)
    assert reading.end.reason == ("stopped" if stop else "exit")
    assert reading.faults == ()
    waits = [event for event in ranks[0].events if event.kind is EventKind.COMMUNICATION]
    if stop:
        assert not waits  # a clock watches nothing but steps
        return
    reductions = [event for event in waits if event.flags]
    assert len(waits) - len(reductions) == 2  # all_reduce, barrier
    assert {event.value for event in reductions} == {4 * 9}  # bytes
    model = reading.evidence.data_parallel[0]
    assert (model.backwards, model.reduced, model.buckets, model.find_unused_parameters) == (6, 6, 1, False)
    assert [seen.function for seen in reading.evidence.collectives] == [
        "torch.distributed.all_reduce",
        "torch.distributed.barrier",
    ]
