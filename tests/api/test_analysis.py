"""From a run to its result: samples outside all events go to the ledger by what they are, and what cannot be known is said."""

import msgspec
import pytest

from pitstop.api.analysis import analyse, profile_result
from pitstop.messages import say
from pitstop.records import (
    EnvironmentSighting,
    Event,
    EventKind,
    Evidence,
    ProcessEvents,
    Program,
    Run,
    TreeUsage,
)

MS = 1_000_000
ENVIRONMENT = EnvironmentSighting(
    pid=1,
    python="3.11.7",
    executable="/usr/bin/python",
    argv=("train.py",),
    script="/home/me/train.py",
    main_guard=True,
    torch="2.13.0",
    cuda=True,
    device_names=("NVIDIA H200",),
    intra_op_threads=2,
    inter_op_threads=2,
    affinity_cpus=2,
    cpu_capability="AVX512",
    start_method=None,
)
SAMPLES = (
    ("python/sync|/home/me/train.py:9 main", 50),
    ("python/logging|/home/me/train.py:8 main > tqdm/std.py refresh", 20),
    ("python/host_to_device|/home/me/train.py:7 main", 10),
    ("python|/home/me/train.py:6 main", 15),
    ("python|?", 5),
    ("forward|/home/me/train.py:5 main", 900),
)


def training(steps: int = 40) -> tuple[Event, ...]:
    """10 ms steps, half of which are in no event; a checkpoint of 50 ms after every eighth."""
    events: list[Event] = []
    at = MS

    def add(kind: EventKind, ms: int, **fields: int) -> None:
        nonlocal at
        events.append(Event(kind=kind, start_ns=at, end_ns=at + ms * MS, **fields))
        at += ms * MS

    for number in range(steps):
        add(EventKind.FORWARD, 2, flags=3)
        add(EventKind.BACKWARD, 2)
        at += 5 * MS
        if number % 8 == 7:
            add(EventKind.CHECKPOINT, 50)
        add(EventKind.OPTIMIZER, 1, arg=1)
    return tuple(events)


def run(**environment) -> Run:
    return Run(
        program=Program(argv=("python", "train.py"), cwd="/home/me"),
        exit_code=0,
        started_ns=0,
        ended_ns=3_000 * MS,
        processes=(ProcessEvents(pid=1, role="main", events=training()),),
        evidence=Evidence(project_root="/home/me", environment=msgspec.structs.replace(ENVIRONMENT, **environment)),
        usage=TreeUsage(),
        stack_samples=SAMPLES,
    )


def result(**environment):
    return profile_result(analyse(run(**environment)), run_folder=None, wall_s=3.0)


def test_samples_outside_events_share_the_gaps_among_what_they_are():
    ledger = result().ledger
    gap = ledger["sync"] / 0.5
    assert gap > 0.2
    assert ledger["logging"] == pytest.approx(0.2 * gap, rel=1e-6)
    assert ledger["host_to_device"] == pytest.approx(0.1 * gap, rel=1e-6)
    assert ledger["python"] == pytest.approx(0.15 * gap, rel=1e-6)
    assert ledger["unknown"] == pytest.approx(0.05 * gap, rel=1e-6)
    assert sum(ledger.values()) == pytest.approx(1.0)


def test_hot_places_carry_the_names_of_the_ledger():
    hot = [place.where for place in result().hot]
    assert hot[:3] == [
        "forward|/home/me/train.py:5 main",
        "sync|/home/me/train.py:9 main",
        "logging|/home/me/train.py:8 main > tqdm/std.py refresh",
    ]


def test_a_read_from_the_device_is_found_and_a_checkpoint_has_its_period():
    said = result()
    assert "blocking-reads" in {finding.fault for finding in said.findings}
    (work,) = said.periodic
    assert (work.category, work.every, work.extra_ns) == ("checkpoint", 8, 50 * MS)


@pytest.mark.parametrize(
    ("environment", "is_said"),
    [({"python": "3.10.13"}, True), ({}, False), ({"python": "3.9.1", "cuda": False}, False)],
)
def test_before_python_3_11_reads_from_a_device_are_not_told_apart(environment, is_said):
    missing = {item.what for item in result(**environment).not_measured}
    assert (say("profile.what_waits") in missing) is is_said


def short(samples: int, steps: int):
    """Steps of 10 ms, with so many samples outside of all events."""
    whole = run()
    events = training(steps)
    return profile_result(
        analyse(
            msgspec.structs.replace(
                whole,
                processes=(ProcessEvents(pid=1, role="main", events=events),),
                stack_samples=(("python|/home/me/train.py:6 main", samples),) if samples else (),
            )
        ),
        run_folder=None,
        wall_s=1.0,
    )


@pytest.mark.parametrize(
    ("samples", "steps", "says"), [(0, 40, "what_unnamed"), (4, 40, "what_unnamed"), (5, 40, None)]
)
def test_a_gap_is_named_from_five_samples_on_and_else_it_says_why_not(samples, steps, says):
    result = short(samples, steps)
    missing = {item.what for item in result.not_measured}
    assert (say("profile.what_unnamed") in missing) is (says is not None)
    assert (result.ledger["python"] > 0) is (says is None)
    assert (result.ledger["unknown"] > 0) is (says is not None)
    assert sum(result.ledger.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(("steps", "is_short"), [(7, True), (40, False)])
def test_a_run_of_milliseconds_says_that_it_is_too_short_and_what_to_do(steps, is_short):
    why = {item.what: item.why for item in short(20, steps).not_measured}
    assert (say("profile.what_shares") in why) is is_short
    if is_short:
        assert "more steps" in why[say("profile.what_shares")]
