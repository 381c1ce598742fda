"""What the numerics bench says without running anything."""

from types import SimpleNamespace

import msgspec
import pytest

from pitstop.api.numerics import NumericsBench
from pitstop.records import GRADIENTS, Change, Event, EventKind, Evidence, Numerics, Steps


def baseline_without_backward(clock="forward", events=()):
    steps = Steps(clock=clock, start_ns=0, ends_ns=tuple(range(1_000_000, 41_000_000, 1_000_000)), samples=(1,) * 40)
    run = SimpleNamespace(evidence=Evidence(project_root="/project"), main=SimpleNamespace(events=events))
    return SimpleNamespace(analysis=SimpleNamespace(run=run, steps=steps, epoch_steps=None), ends_by_itself=True)


BY_HAND = Event(kind=EventKind.BACKWARD, start_ns=0, end_ns=1, arg=GRADIENTS)


@pytest.mark.parametrize(("clock", "events"), [("forward", ()), ("backward", (BY_HAND,))])
def test_a_program_that_trains_nothing_that_is_seen_is_told_why_nothing_can_be_checked(clock, events):
    """No run is made: the bench here cannot run anything. An equivalence run does not see `torch.autograd.grad`."""
    bench = NumericsBench(None, baseline=baseline_without_backward(clock, events))
    report = bench.check(("bf16",), change=Change(), classes=frozenset({Numerics.PRECISION}))
    assert report.decision == "not-made"
    (gate,) = report.gates
    assert gate.passed is None
    assert "neither" in gate.detail
    assert msgspec.json.decode(msgspec.json.encode(report), type=type(report)) == report
