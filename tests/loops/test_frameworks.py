"""The loops of real frameworks, in the interpreter that `make loops-env` makes: steps, samples and loaders as their authors would name them."""

import json
import os
import sys
from pathlib import Path

import pytest
from probed import plain_env, run, run_probed
from table import CHECKPOINTS, FRAMEWORKS

from pitstop.diagnose.account import account
from pitstop.diagnose.loaders import loader_roles
from pitstop.diagnose.steps import find_steps
from pitstop.records import EventKind

PROGRAMS = Path(__file__).parent / "programs" / "frameworks"
PYTHON = Path(__file__).parent.parent.parent / ".venvs" / "loops" / "bin" / "python"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="make loops-env makes the interpreter with the frameworks"),
]
LONG_S = 0.25  # a dozen stack samples; shorter runs may have none between events
ENVIRONMENT = plain_env(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="", TRANSFORMERS_VERBOSITY="error")


def probed(name, tmp_path, **config):
    arguments, _expected = FRAMEWORKS[name]
    return run_probed(
        PROGRAMS / f"{name}.py",
        *arguments,
        folder=tmp_path / "probe",
        cwd=tmp_path,
        python=(str(PYTHON),),
        env=ENVIRONMENT,
        **config,
    )


def batch_sizes(evidence, ids):
    return tuple(sorted({loader.batch_size for loader in evidence.loaders if loader.id in ids}))


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_profile_finds_what_its_author_would_name(name, tmp_path):
    done, (arguments, expected) = probed(name, tmp_path, sample_hz=200), FRAMEWORKS[name]
    assert (done.exit_code, done.reading.faults) == (0, ())
    steps = find_steps(done.main, evidence=done.reading.evidence)
    assert (steps.count, steps.clock, steps.micro_steps) == (expected.steps, expected.clock, expected.micro)
    assert sum(steps.samples) == expected.samples
    roles = loader_roles(done.main)
    assert batch_sizes(done.reading.evidence, roles.training) == expected.trains
    assert batch_sizes(done.reading.evidence, roles.evaluation) == expected.evaluates
    assert (account(done.main, steps).share("evaluation") > 0) == bool(expected.evaluates)
    assert done.count(EventKind.CHECKPOINT) >= CHECKPOINTS.get(name, 0)
    trained = [event for event in done.main if event.kind is EventKind.FORWARD and event.flags == 3]
    assert len(trained) >= expected.steps * expected.micro
    plain = run([str(PYTHON), str(PROGRAMS / f"{name}.py"), *arguments], cwd=tmp_path, env=ENVIRONMENT)
    assert plain.returncode == 0
    assert plain.stdout.splitlines()[-1:] == done.stdout.splitlines()[-1:]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_trial_counts_the_same_steps_and_ends_the_program_where_it_should(name, tmp_path):
    _arguments, expected = FRAMEWORKS[name]
    done = probed(name, tmp_path, mode="clock", stop_after_steps=expected.steps - 2)
    assert (done.exit_code, done.reading.faults) == (0, ())
    assert done.reading.end.reason == "stopped"
    steps = find_steps(done.main)
    assert steps.clock == expected.clock
    assert steps.count in {expected.steps - 3, expected.steps - 2}  # of two optimizers the first seen ends the program


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_command_shows_where_all_of_the_time_went(name, tmp_path):
    """`pitstop profile` as a user runs it: exit code 0, the program's own last line, and nearly nothing unknown."""
    arguments, expected = FRAMEWORKS[name]
    command = [sys.executable, "-m", "pitstop", "profile", "--json", "result.json", "--", str(PYTHON)]
    environment = {**ENVIRONMENT, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    done = run([*command, str(PROGRAMS / f"{name}.py"), *arguments], cwd=tmp_path, env=environment)
    assert done.returncode == 0
    result = json.loads((tmp_path / "result.json").read_bytes())
    assert result["steps"]["count"] == expected.steps
    wall_s = result["steps"]["mean_ns"] * expected.steps / 1e9
    if wall_s > LONG_S:
        assert result["ledger"]["unknown"] <= 0.03


@pytest.mark.parametrize("name", ["accelerate_loop", "hf_trainer", "lightning_automatic"])
def test_recorded_steps_are_computed_again_to_the_bit(name, tmp_path):
    """Their loaders fetch batches for the step after; epochs end and validation runs in between."""
    asked = {"steps": 10, "captures": 2, "replay": ["float64", "plain", "ulp"]}
    done = probed(name, tmp_path, mode="equivalence", equivalence=asked)
    result = json.loads((tmp_path / "probe" / "equivalence-0.json").read_bytes())
    assert (done.exit_code, result["faults"], result["crash"], len(result["replays"])) == (0, [], None, 6)
    plain = [one for one in result["replays"] if one["variant"] == "plain"]
    assert [one["to_capture"]["gradient"] for one in plain] == [0.0, 0.0]
    assert [update["error"] for one in plain for update in one["updates"]] == [0.0, 0.0]
    assert 0 < max(one["to_float64"]["gradient"] for one in plain) < 1e-5
