"""What the numerics bench says without running anything."""

from types import SimpleNamespace

import msgspec

from pitstop.api.numerics import NumericsBench
from pitstop.records import Change, Evidence, Numerics, Steps


def baseline_without_backward():
    steps = Steps(
        clock="forward", start_ns=0, ends_ns=tuple(range(1_000_000, 41_000_000, 1_000_000)), samples=(1,) * 40
    )
    run = SimpleNamespace(evidence=Evidence(project_root="/project"))
    return SimpleNamespace(analysis=SimpleNamespace(run=run, steps=steps, epoch_steps=None), ends_by_itself=True)


def test_a_program_that_trains_nothing_is_told_why_nothing_can_be_checked():
    """No run is made: the bench here cannot run anything."""
    bench = NumericsBench(None, baseline=baseline_without_backward())
    report = bench.check(("bf16",), change=Change(), classes=frozenset({Numerics.PRECISION}))
    assert report.decision == "not-made"
    (gate,) = report.gates
    assert gate.passed is None
    assert "neither" in gate.detail
    assert msgspec.json.decode(msgspec.json.encode(report), type=type(report)) == report
