"""Every style of loop on plain torch: the steps, samples and loaders that its author would name, in a profile and in a trial."""

import sys
from pathlib import Path

import pytest
from probed import plain_env, run, run_probed
from table import FAST, LOOPS

from pitstop.diagnose.account import account
from pitstop.diagnose.loaders import loader_roles
from pitstop.diagnose.steps import find_steps
from pitstop.records import EventKind

PROGRAMS = Path(__file__).parent / "programs"
EVERY = [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in LOOPS]
pytestmark = pytest.mark.torch


def probed(name, tmp_path, **config):
    return run_probed(PROGRAMS / f"{name}.py", folder=tmp_path / "probe", cwd=tmp_path, **config)


def batch_sizes(evidence, ids):
    return tuple(sorted({loader.batch_size for loader in evidence.loaders if loader.id in ids}))


@pytest.mark.parametrize("name", EVERY)
def test_a_profile_finds_what_its_author_would_name(name, tmp_path):
    done, expected = probed(name, tmp_path, sample_hz=500), LOOPS[name]
    assert (done.exit_code, done.stderr, done.reading.faults) == (0, "", ())
    steps = find_steps(done.main, evidence=done.reading.evidence)
    assert (steps.count, steps.clock, sum(steps.samples)) == (expected.steps, expected.clock, expected.samples)
    assert steps.micro_steps == (expected.micro or max(2, steps.micro_steps))
    roles = loader_roles(done.main)
    assert batch_sizes(done.reading.evidence, roles.training) == expected.trains
    assert batch_sizes(done.reading.evidence, roles.evaluation) == expected.evaluates
    ledger = account(done.main, steps)
    assert (ledger.share("evaluation") > 0) == bool(expected.evaluates)
    if name in FAST[:2]:
        plain = run([sys.executable, str(PROGRAMS / f"{name}.py")], cwd=tmp_path, env=plain_env())
        assert (plain.stdout, plain.returncode) == (done.stdout, done.exit_code)


@pytest.mark.parametrize("name", EVERY)
def test_a_trial_counts_the_same_steps_and_ends_the_program_where_it_should(name, tmp_path):
    expected = LOOPS[name]
    done = probed(name, tmp_path, mode="clock", stop_after_steps=(expected.steps - 2) * expected.ticks)
    assert (done.exit_code, done.stderr, done.reading.faults) == (0, "", ())
    steps = find_steps(done.main)
    assert steps.clock == expected.clock
    if done.reading.end.reason == "stopped":
        assert expected.steps - 3 <= steps.count <= expected.steps
    else:  # certain of its clock only at the end
        assert steps.count == expected.steps
    ends = [event for event in done.main if event.kind in {EventKind.FORWARD, EventKind.BACKWARD, EventKind.OPTIMIZER}]
    assert ends or expected.clock == "step"
