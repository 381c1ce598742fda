"""A search replayed on a recording finds what trying everything would, in a part of the time."""

import math

import msgspec
import numpy as np
import pytest

from pitstop.records import Numerics, Proposal, Trial, TrialOutcome
from pitstop.tune.recorded import Recorded, Replay, all_sets, decode, encode
from pitstop.tune.search_actions import Intervention, SearchOptions
from pitstop.tune.simulate import run_tune

GAINS = {"workers=1": 1.3, "workers=2": 1.1, "bf16": 1.4, "fused": 1.02, "broken": 1.0}


def proposal(name: str, group: str) -> Proposal:
    return Proposal(
        name=name, treatment=group, setting={}, numerics=Numerics.EXACT, ceiling=math.inf, group=group, acts_on=""
    )


PROPOSALS = (
    proposal("workers=1", "workers"),
    proposal("workers=2", "workers"),
    proposal("bf16", "bf16"),
    proposal("fused", "fused"),
    proposal("broken", "broken"),
)


def trial(key: tuple[str, ...], *, scatter: float) -> Trial:
    if "broken" in key:
        return Trial(proposals=key, outcome=TrialOutcome.CRASHED, wall_ns=10**9)
    gain = math.prod(GAINS[name] for name in key)
    window_ns = round(4e9 / gain * math.exp(scatter))
    return Trial(
        proposals=key,
        outcome=TrialOutcome.MEASURED,
        window_ns=window_ns,
        window_steps=80,
        first_ns=2 * 10**9,
        wall_ns=window_ns + 2 * 10**9,
    )


def recorded() -> Recorded:
    rng = np.random.default_rng(0)
    trials = []
    for number, key in enumerate(all_sets(PROPOSALS)):
        if key and number % 4 == 1:
            trials.append(trial((), scatter=0.01 * rng.standard_normal()))
        if key:
            trials.append(trial(key, scatter=0.01 * rng.standard_normal()))
    return Recorded(program="made", machine="none", proposals=PROPOSALS, trials=tuple(trials), check_ns=10**10)


def test_every_set_has_one_setting_per_group():
    sets = list(all_sets(PROPOSALS))
    assert len(sets) == len(set(sets)) == 3 * 2 * 2 * 2
    assert sets[0] == ()
    assert ("workers=1", "bf16", "fused", "broken") in sets


def test_the_best_of_a_recording_is_safe_and_measured():
    best, gain = recorded().best()
    assert best[:2] == ("workers=1", "bf16")
    assert gain == pytest.approx(math.log(1.3 * 1.4), abs=0.05)
    unsafe = msgspec.structs.replace(recorded(), unsafe=("bf16",))
    assert unsafe.best()[0][0] == "workers=1"
    assert "bf16" not in unsafe.best()[0]


@pytest.mark.parametrize("seed", range(5))
def test_a_replayed_search_finds_it_with_fewer_trials(seed):
    made = recorded()
    tuned = run_tune(PROPOSALS, Replay(made, rng=np.random.default_rng(seed)), options=SearchOptions())
    assert made.log_gain(tuned.finish.chosen) >= made.best()[1] - 0.05
    screened = {one.proposals for one in tuned.observations if isinstance(one, Trial)}
    assert len(screened) < len(list(all_sets(PROPOSALS))) / 2
    broken = next(one for one in tuned.finish.verdicts if one.treatments == ("broken",))
    assert broken.verdict == "invalid"


def test_interventions_are_answered_from_the_recording():
    alone = Intervention(what="loader-alone", outcome=TrialOutcome.MEASURED, step_ns=1e6, wall_ns=10**9)
    made = msgspec.structs.replace(
        recorded(),
        interventions=(alone,),
        proposals=tuple(msgspec.structs.replace(one, acts_on="training") for one in PROPOSALS),
    )
    options = SearchOptions(interventions=("loader-alone",))
    tuned = run_tune(made.proposals, Replay(made, rng=np.random.default_rng(0)), options=options)
    assert alone in tuned.observations


def test_a_recording_is_written_and_read_back():
    made = recorded()
    assert decode(encode(made)) == made
