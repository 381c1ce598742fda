"""What a cached batch and the loader alone show decides what is tried by itself."""

import math

import msgspec
import numpy as np
import pytest

from pitstop.records import Numerics, Proposal, TrialOutcome
from pitstop.tune.search import replay
from pitstop.tune.search_actions import Finish, Intervene, Intervention, Measure, Observation, SearchOptions
from pitstop.tune.simulate import Machine, Noise, Tuned, run_tune

BOTH = ("cached-batch", "loader-alone")


def proposal(name: str, *, acts_on: str = "", group: str = "") -> Proposal:
    return Proposal(
        name=name,
        treatment=name,
        setting={},
        numerics=Numerics.EXACT,
        ceiling=math.inf,
        group=group or name,
        acts_on=acts_on,
    )


PROPOSALS = (
    proposal("workers=1", acts_on="input", group="workers"),
    proposal("workers=2", acts_on="input", group="workers"),
    proposal("fused", acts_on="training"),
    proposal("compile", acts_on="training"),
    proposal("threads"),
)


def tune(landscape, *, without: dict[str, float], noise: float = 0.004, machine=Machine, **options) -> Tuned:
    simulated = machine(landscape, rng=np.random.default_rng(5), noise=Noise(sd=noise), without=without)
    return run_tune(PROPOSALS, simulated, options=SearchOptions(**{"interventions": BOTH, **options}))


def additive(**gains: float):
    return lambda key: sum(math.log(gains.get(name.split("=")[0], 1.0)) for name in key)


def tried(tuned: Tuned) -> set[tuple[str, ...]]:
    return {action.proposals for action in tuned.actions if isinstance(action, Measure)}


def asked(tuned: Tuned) -> list[str]:
    return [action.what for action in tuned.actions if isinstance(action, Intervene)]


def reason(tuned: Tuned, name: str) -> str:
    return next(one.reason for one in tuned.finish.verdicts if one.treatments == (name,))


def test_each_is_made_once_after_the_first_baselines():
    tuned = tune(additive(fused=1.2), without={"cached-batch": 1.5, "loader-alone": 2.0})
    assert asked(tuned) == ["cached-batch", "loader-alone"]
    assert [type(action) for action in tuned.actions[:5]] == [Measure, Measure, Intervene, Intervene, Measure]


def test_where_a_cached_batch_is_no_faster_the_input_is_left_alone():
    tuned = tune(additive(fused=1.2), without={"cached-batch": 1.0, "loader-alone": 3.0})
    assert not {("workers=1",), ("workers=2",)} & tried(tuned)
    assert "on one cached batch" in reason(tuned, "workers=1")
    assert tuned.finish.chosen == ("fused",)


def test_where_the_loader_is_the_limit_the_computation_is_not_tried_by_itself_but_on_top_of_a_faster_input():
    """Two thirds of the step are the input's; with workers it is the computation's turn."""

    def landscape(key):
        input_s, training_s = 1.0, 0.6
        if {"workers=1", "workers=2"} & set(key):
            input_s = 0.5
        if "fused" in key:
            training_s = 0.3
        return -math.log(max(input_s, training_s))

    tuned = tune(landscape, without={"cached-batch": 1 / 0.6, "loader-alone": 1.0})
    assert not {("fused",), ("compile",)} & tried(tuned)
    assert "the loader by itself" in reason(tuned, "compile")
    assert set(tuned.finish.chosen) == {"workers=1", "fused"}
    assert tuned.finish.speedup == pytest.approx(2.0, rel=0.02)


def test_noise_does_not_prune():
    """Where runs scatter by a fifth, one that is no faster does not say that the input costs less than a tenth."""
    tuned = tune(additive(workers=1.1), without={"cached-batch": 1.0, "loader-alone": 2.0}, noise=0.2)
    assert ("workers=1",) in tried(tuned)


def test_the_measured_ceiling_is_the_prediction():
    tuned = tune(additive(workers=1.4), without={"cached-batch": 1.5, "loader-alone": 3.0})
    predicted = {one.treatments: one.predicted for one in tuned.finish.verdicts}
    assert predicted["workers=1",][1] == pytest.approx(1.5, rel=0.05)
    assert predicted["fused",][1] == pytest.approx(3.0, rel=0.05)
    assert predicted["threads",] is None


@pytest.mark.parametrize(
    "options",
    [{"interventions": ()}, {"budget_ns": 60 * 10**9}],
    ids=["not possible", "a budget of ten trials"],
)
def test_none_is_made_where_it_cannot_be_or_costs_too_much(options):
    assert asked(tune(additive(fused=1.2), without={}, **options)) == []


@pytest.mark.parametrize("outcome", [TrialOutcome.CRASHED, TrialOutcome.BUSY, TrialOutcome.HUNG])
def test_one_that_comes_to_nothing_prunes_nothing_and_is_not_made_again(outcome):
    class Failing(Machine):
        def answer(self, action):
            if isinstance(action, Intervene):
                return Intervention(what=action.what, outcome=outcome, wall_ns=1)
            return super().answer(action)

    tuned = tune(additive(workers=1.3, fused=1.2), without={}, machine=Failing)
    assert len(asked(tuned)) == 2
    assert {("workers=1",), ("fused",)} <= tried(tuned)
    assert isinstance(tuned.finish, Finish)
    assert tuned.finish.chosen == ("workers=1", "fused")


def test_a_journal_with_interventions_is_replayed():
    tuned = tune(additive(fused=1.2), without={"cached-batch": 1.0, "loader-alone": 3.0})
    packed = [msgspec.msgpack.encode(one) for one in tuned.observations]
    again = replay(
        PROPOSALS,
        [msgspec.msgpack.decode(one, type=Observation) for one in packed],
        options=SearchOptions(interventions=BOTH),
    )
    assert again.action == tuned.finish
