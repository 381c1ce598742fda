"""A program that ends before a set has earned back its start is not given that set."""

import math

import msgspec
import numpy as np
import pytest

from pitstop.records import Gate, Numerics, Proposal, TrialOutcome
from pitstop.tune.search import replay
from pitstop.tune.search_actions import Length, MeasureLength, SearchOptions
from pitstop.tune.simulate import Machine, Noise, Tuned, run_tune


def proposal(name: str, *, compiles: bool = False) -> Proposal:
    return Proposal(
        name=name, treatment=name, setting={}, numerics=Numerics.EXACT, ceiling=math.inf, group=name, compiles=compiles
    )


PROPOSALS = (proposal("layout"), proposal("compile", compiles=True), proposal("other"))


def tune(gains: dict[str, float], *, steps: int, options: SearchOptions | None = None, **machine) -> Tuned:
    simulated = Machine(
        lambda key: sum(math.log(gains.get(name, 1.0)) for name in key),
        rng=np.random.default_rng(3),
        noise=Noise(sd=0.004),
        compiling={"compile": 3.75},
        steps=steps,
        **machine,
    )
    return run_tune(PROPOSALS, simulated, options=options)


def looks(tuned: Tuned) -> list[MeasureLength]:
    return [action for action in tuned.actions if isinstance(action, MeasureLength)]


@pytest.mark.parametrize(("steps", "chosen"), [(600, ("layout",)), (20_000, ("layout", "compile"))])
def test_the_length_is_looked_at_where_the_choice_hangs_on_it(steps, chosen):
    tuned = tune({"layout": 1.2, "compile": 1.5}, steps=steps)
    assert tuned.finish.chosen == chosen
    assert len(looks(tuned)) == 1
    wanted = looks(tuned)[0].steps
    saved_ms = 50 / 1.2 * (1 - 1 / 1.5)
    assert wanted == pytest.approx(15_000 / saved_ms, rel=0.15)


def test_nothing_is_looked_at_where_nothing_starts_late():
    tuned = tune({"layout": 1.2, "other": 1.1}, steps=200)
    assert tuned.finish.chosen == ("layout", "other")
    assert not looks(tuned)


@pytest.mark.parametrize("known", [Length(steps=20_000, ended=True), Length(steps=5_000)])
def test_what_is_known_already_is_not_looked_at(known):
    tuned = tune({"layout": 1.2, "compile": 1.5}, steps=100, options=SearchOptions(length=known))
    assert tuned.finish.chosen == ("layout", "compile")
    assert not looks(tuned)


def test_a_known_short_program_is_tuned_without_what_starts_late():
    tuned = tune(
        {"layout": 1.2, "compile": 1.5}, steps=100, options=SearchOptions(length=Length(steps=200, ended=True))
    )
    assert tuned.finish.chosen == ("layout",)
    compiled = next(one for one in tuned.finish.verdicts if one.treatments == ("compile",))
    assert compiled.verdict == "faster"
    assert "the program has 200" in compiled.reason


def test_where_only_a_late_start_pays_nothing_is_handed_over_and_the_reason_names_the_length():
    tuned = tune({"compile": 1.5}, steps=300)
    assert tuned.finish.chosen == ()
    assert "300 steps" in tuned.finish.reason
    assert "--job-steps" in tuned.finish.reason


def test_what_is_no_faster_at_any_length_is_not_the_lengths_fault():
    tuned = tune({"compile": 0.97}, steps=300, options=SearchOptions(length=Length(steps=300, ended=True)))
    assert tuned.finish.chosen == ()
    assert "--job-steps" not in tuned.finish.reason


def test_a_compiler_that_harms_alone_does_not_bar_it_from_long_programs():
    """Alone it gains nothing and starts late; on top of the layout it pays after some thousand steps, which there are."""

    def landscape(key):
        gain = math.log(1.3) if "layout" in key else 0.0
        return gain + (math.log(1.25) if {"layout", "compile"} <= set(key) else 0.0)

    machine = Machine(landscape, rng=np.random.default_rng(0), noise=Noise(sd=0.004), compiling={"compile": 3.75})
    options = SearchOptions(length=Length(steps=50_000, ended=True))
    assert run_tune(PROPOSALS, machine, options=options).finish.chosen == ("layout", "compile")


def test_an_alternative_that_fails_its_gate_is_none():
    """The layout without the compiler would be ahead; it is unsafe, so what is left is compared with the unchanged program."""
    tuned = tune({"layout": 1.6, "compile": 1.5}, steps=2_000, unsafe=("layout",))
    assert tuned.finish.chosen == ("compile",)


def test_looking_costs_no_more_than_its_share_of_the_budget():
    budget = SearchOptions(budget_ns=300 * 10**9)
    tuned = tune({"layout": 1.2, "compile": 1.06}, steps=1_000_000, options=budget)
    for seen in tuned.observations:
        if isinstance(seen, Length):
            assert seen.wall_ns <= 0.15 * 300e9 * 1.01


def test_a_run_that_failed_leaves_the_choice_as_it_was():
    class Failing(Machine):
        def answer(self, action):
            return Length(steps=10) if isinstance(action, MeasureLength) else super().answer(action)

    gains = {"layout": 1.2, "compile": 1.5}
    machine = Failing(
        lambda key: sum(math.log(gains.get(name, 1.0)) for name in key),
        rng=np.random.default_rng(3),
        noise=Noise(sd=0.004),
        compiling={"compile": 3.75},
    )
    tuned = run_tune(PROPOSALS, machine)
    assert tuned.finish.chosen == ("layout", "compile")
    assert 1 <= len(looks(tuned)) <= 2


def test_a_length_is_replayed_from_the_journal():
    tuned = tune({"layout": 1.2, "compile": 1.5}, steps=200)
    packed = [msgspec.msgpack.encode(one) for one in tuned.observations]
    from pitstop.tune.search_actions import Observation

    again = replay(PROPOSALS, [msgspec.msgpack.decode(one, type=Observation) for one in packed])
    assert again.action == tuned.finish


def test_failures_and_gates_of_others_do_not_stand_in_the_way():
    tuned = tune({"compile": 1.5, "other": 1.3}, steps=200, failures={"layout": TrialOutcome.CRASHED})
    assert tuned.finish.chosen == ("other",)
    assert all(isinstance(gate, Gate) for gate in tuned.finish.gates)
