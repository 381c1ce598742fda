"""Whatever a machine answers, the search comes to an end and claims nothing that was not measured and passed."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pitstop.records import Gate, Numerics, Proposal, Trial, TrialOutcome, VerdictKind
from pitstop.tune.search import observe, replay, start
from pitstop.tune.search_actions import CheckNumerics, Finish, NumericsReport, SearchOptions
from pitstop.tune.search_progress import describe

NUMERICS = list(Numerics)
PROPOSALS = tuple(
    Proposal(
        name=f"{group}={rung}",
        treatment=group,
        setting={},
        numerics=NUMERICS[(index + rung) % len(NUMERICS)],
        ceiling=(math.inf, 1.0, 1.5, 4.0)[index],
        group=group,
    )
    for index, group in enumerate(("a", "b", "c", "d"))
    for rung in range(1 + index % 3)
)


@st.composite
def machines(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    return {
        "rng": np.random.default_rng(seed),
        "failing": draw(st.floats(0, 0.6)),
        "busy": draw(st.floats(0, 0.5)),
        "unsafe": draw(st.floats(0, 0.8)),
        "spread": draw(st.sampled_from([0.0, 0.01, 0.1, 1.0])),
        "step_ns": draw(st.sampled_from([1, 50_000_000, 10**12])),
        "samples": draw(st.sampled_from([0, 1, 3200])),
    }


def answer(action, machine):
    rng = machine["rng"]
    if isinstance(action, CheckNumerics):
        passed = [True, False, None][int(rng.random() < machine["unsafe"]) * int(rng.integers(1, 3))]
        return NumericsReport(proposals=action.proposals, gates=(Gate(name="g", passed=passed),), wall_ns=5)
    if rng.random() < machine["busy"]:
        return Trial(proposals=action.proposals, outcome=TrialOutcome.BUSY, wall_ns=3)
    if rng.random() < machine["failing"] * (0.2 if not action.proposals else 1.0):
        outcome = [one for one in TrialOutcome if one is not TrialOutcome.BUSY][int(rng.integers(8))]
        return Trial(proposals=action.proposals, outcome=outcome, wall_ns=2)
    return Trial(
        proposals=action.proposals,
        outcome=TrialOutcome.MEASURED,
        window_ns=max(1, round(machine["step_ns"] * 100 * math.exp(machine["spread"] * rng.standard_normal()))),
        window_steps=100,
        window_samples=machine["samples"],
        peak_bytes=[None, 1 << 30, 9 << 30][int(rng.integers(3))],
        peak_device_bytes=[None, 0, 100, 200][int(rng.integers(4))],
        wall_ns=int(rng.integers(0, 20)),
    )


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(
    machines(),
    st.sampled_from([None, 0, 50, 300]),
    st.sampled_from([0.0, 0.02]),
    st.sampled_from([(4, 8, 12, 16), (2,), (3, 4, 6)]),
    st.integers(1, 3),
)
def test_any_machine(machine, budget_ns, margin, looks, most):
    options = SearchOptions(budget_ns=budget_ns, margin=margin, looks=looks, max_finalists=most, most_trials=150)
    search = start(PROPOSALS, options=options)
    observations = []
    while not isinstance(search.action, Finish):
        assert describe(search).expected > len(observations)
        observations.append(answer(search.action, machine))
        search = observe(search, observations[-1])
        assert len(observations) < 400
    finish = search.action
    assert {one.treatments for one in finish.verdicts} >= {(one.name,) for one in PROPOSALS}
    assert all(one.reason for one in finish.verdicts)
    assert replay(PROPOSALS, observations, options=options) == search
    if not finish.chosen:
        assert (finish.speedup, finish.ci) == (1.0, None)
        return
    groups = [one.group for one in PROPOSALS if one.name in finish.chosen]
    assert len(groups) == len(set(groups)), "two settings of one group"
    found = next(one for one in finish.verdicts if one.treatments == finish.chosen)
    assert found.verdict is VerdictKind.FASTER
    assert found.stage == "confirm"
    assert finish.ci[0] > 1 + margin
    gated = tuple(one.name for one in PROPOSALS if one.name in finish.chosen and one.numerics is not Numerics.TRAINING)
    reports = [one for one in observations if isinstance(one, NumericsReport)]
    assert not gated or any(one.proposals == gated and one.outcome == "passed" for one in reports)


@pytest.mark.parametrize("budget_ns", [0, 1])
def test_no_budget_at_all_ends_at_once(budget_ns):
    search = start(PROPOSALS, options=SearchOptions(budget_ns=budget_ns))
    steps = 0
    while not isinstance(search.action, Finish):
        search = observe(
            search,
            Trial(
                proposals=search.action.proposals, outcome=TrialOutcome.MEASURED, window_ns=1, window_steps=1, wall_ns=1
            ),
        )
        steps += 1
    assert steps <= 2
    assert search.action.chosen == ()
