"""The search as a state machine: what it asks for in which situation."""

import math
import re
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from pitstop.records import Gate, Numerics, Proposal, Trial, TrialOutcome, VerdictKind
from pitstop.tune.search import next_action, observe, replay, start
from pitstop.tune.search_actions import CheckNumerics, Finish, Measure, NumericsReport, Observation, SearchOptions
from pitstop.tune.search_facts import canonical, tabulate
from pitstop.tune.simulate import Machine, Noise, Tuned, run_tune
from pitstop.tune.simulate_programs import FewCores, null_program, random_program

QUIET = Noise(sd=0.002)


def proposal(name: str, *, group: str | None = None, ceiling: float = math.inf, numerics=Numerics.EXACT) -> Proposal:
    return Proposal(
        name=name, treatment=group or name, setting={}, numerics=numerics, ceiling=ceiling, group=group or name
    )


def tune(
    gains: dict[str, float], *, proposals=None, options=None, seed: int = 0, noise: Noise = QUIET, **machine
) -> Tuned:
    """Tune a program whose gains multiply."""
    known = proposals or tuple(proposal(name) for name in gains)
    simulated = Machine(
        lambda key: sum(math.log(gains.get(name, 1.0)) for name in key),
        rng=np.random.default_rng(seed),
        noise=noise,
        **machine,
    )
    return run_tune(known, simulated, options=options)


def verdict(tuned: Tuned, *names: str):
    return next(one for one in tuned.finish.verdicts if one.treatments == names)


def measured(tuned: Tuned, *, purpose: str | None = None) -> list[tuple[str, ...]]:
    return [
        action.proposals
        for action in tuned.actions
        if isinstance(action, Measure) and purpose in (None, action.purpose)
    ]


def test_baselines_come_first_and_never_more_than_two_candidates_without_one():
    tuned = tune({"a": 1.5, "b": 1.0, "c": 1.2, "d": 0.8})
    screened = measured(tuned, purpose="screen")
    assert screened[:2] == [(), ()]
    assert not any(all(window) for window in zip(screened, screened[1:], screened[2:], strict=False))
    assert screened[-1] == (), "the last candidates have a baseline on both sides"


def test_what_promises_most_is_tried_first_and_what_cannot_reach_the_margin_never():
    known = (proposal("small", ceiling=1.1), proposal("none", ceiling=1.015), proposal("large", ceiling=3.0))
    tuned = tune({"large": 2.0, "small": 1.05, "none": 1.01}, proposals=known)
    singles = [key for key in measured(tuned) if len(key) == 1]
    assert singles[:2] == [("large",), ("small",)]
    assert ("none",) not in singles
    assert "1.01x" in verdict(tuned, "none").reason or "1.02x" in verdict(tuned, "none").reason


def shared_cores(key: tuple[str, ...]) -> float:
    """Loading and computing on the same cores: a worker slows the computing, which only a lighter computing can afford."""
    loading, computing = 0.35, 0.25 if "fused" in key else 0.65
    return -math.log(max(loading, 1.7 * computing) if "worker" in key else loading + computing)


def test_what_harmed_alone_is_tried_on_top_once_the_bottleneck_has_moved():
    known = (proposal("worker", ceiling=1.5), proposal("fused", ceiling=1.6))
    assert shared_cores(("worker",)) < 0 < shared_cores(("worker", "fused")) - shared_cores(("fused",))
    tuned = run_tune(known, Machine(shared_cores, rng=np.random.default_rng(0), noise=QUIET))
    assert tuned.finish.chosen == ("worker", "fused")


def test_what_only_seems_to_harm_alone_is_tried_on_top_before_everything_at_once():
    """A worker that looks slower by less than noise does: too little to be sure of, and too much to ride along with others."""
    known = (*(proposal(name, ceiling=1.5) for name in ("worker", "b", "c")), proposal("fused", ceiling=1.6))
    tried = 0
    for seed in range(40):
        machine = Machine(shared_cores, rng=np.random.default_rng(seed), noise=Noise(sd=0.06))
        tuned = run_tune(known, machine)
        at = next(index for index, one in enumerate(tuned.observations) if len(one.proposals) > 1)
        then = tabulate(replay(known, tuned.observations[:at]).facts).estimates  # what was known as singles were done
        worker, fused = (then[name,] for name in ("worker", "fused"))
        if not -2 < worker.log_ratio / worker.standard_error < -1 or worker.log_ratio + fused.log_ratio < 0:
            continue
        tried += 1
        sets = [key for key in measured(tuned) if len(key) > 1]
        on_top = next(index for index, key in enumerate(sets) if "worker" in key)
        alone = tuple(name for name in sets[on_top] if name != "worker")
        assert sets[:on_top] == ([alone] if len(alone) > 1 else []), f"at once and by itself, seed {seed}"
    assert tried >= 5


def test_what_is_dear_to_try_does_not_ride_along_where_the_budget_is_short():
    gains = {"a": 1.5, "b": 1.3, "c": 1.004, "d": 1.004, "compile": 1.004}
    for budget_ns, rides in ((240 * 10**9, False), (None, True)):
        tuned = tune(gains, options=SearchOptions(budget_ns=budget_ns, margin=0.0), cost={"compile": 5.0})
        sets = measured(tuned)
        assert ("compile",) in sets
        assert any({"a", "b", "c", "d"} <= set(key) for key in sets)
        assert any({"a", "b", "c", "d", "compile"} <= set(key) for key in sets) is rides


@pytest.mark.parametrize("seconds", range(110, 330, 20))
def test_no_budget_throws_away_what_a_smaller_one_finds(seconds):
    """On the demo's landscape the best set is 2.8x; trials take 6 s and a check a minute, so these budgets are from tight to ample."""
    program = FewCores()
    found = []
    for seed in range(12):
        machine = Machine(
            program.log_gain,
            rng=np.random.default_rng(seed),
            noise=Noise(sd=0.035),
            compiling=program.compiling,
            check_cost=program.check_cost,
        )
        tuned = run_tune(program.proposals(), machine, options=SearchOptions(budget_ns=seconds * 10**9))
        found.append(program.log_gain(tuned.finish.chosen))
    assert math.exp(np.mean(found)) > 2.3
    assert sum(gain > math.log(2.1) for gain in found) >= 9


def test_additions_are_tried_before_passengers_are_left_out():
    """What joined with everything else may stay for a while; what could gain more than it costs is not made to wait."""
    gains = {"a": 1.5, "b": 1.3, "passenger": 1.0, "c": 1.03, "format": 1.2}
    known = tuple(proposal(name, numerics=Numerics.PRECISION if name == "format" else Numerics.EXACT) for name in gains)

    def landscape(key):  # the number format gains only on top of both others
        on_top = {"a", "b"} <= set(key)
        return sum(math.log(gains[name]) for name in key if name != "format" or on_top)

    machine = Machine(landscape, rng=np.random.default_rng(0), noise=Noise(sd=0.01))
    tuned = run_tune(known, machine)
    sets = list(dict.fromkeys(key for key in measured(tuned, purpose="screen") if len(key) > 1))
    everything = sets.index(("a", "b", "passenger", "c"))
    assert sets[everything + 1] == ("a", "b", "passenger", "c", "format")
    assert {"a", "b", "format"} <= set(tuned.finish.chosen)
    assert "passenger" not in tuned.finish.chosen


def test_what_was_found_is_proven_from_the_reserve_where_the_budget_does_not_do():
    """The check turns out to be dearer than was kept back for it: without a proof, what is kept for later has no use."""
    known = (proposal("workers", numerics=Numerics.SAME_DISTRIBUTION), *(proposal(name) for name in "bcdefgh"))
    ends = {}
    for reserve_ns in (0, 60 * 10**9):
        options = SearchOptions(budget_ns=130 * 10**9, reserve_ns=reserve_ns)
        tuned = tune({"workers": 3.0}, proposals=known, options=options, check_cost=20.0)
        ends[reserve_ns] = tuned.finish
        assert tuned.finish.spent_ns <= options.budget_ns + options.reserve_ns
    assert ends[0].chosen == ()
    assert "workers" in ends[60 * 10**9].chosen
    assert ends[60 * 10**9].pairs == 3


def test_what_a_search_that_was_cut_short_did_not_reach_is_not_put_down_to_the_budget():
    busy = tune({"a": 1.5, "b": 1.2}, noise=Noise(busy_chance=1.0))
    assert "--tolerate-load" in busy.finish.reason
    failed = tune(
        {"a": 1.5, "b": 1.2}, options=SearchOptions(budget_ns=600 * 10**9), failures={(): TrialOutcome.CRASHED}
    )
    for ended in (busy, failed):
        assert {one.reason for one in ended.finish.verdicts} == {"not tried: the search ended before it"}


def test_what_was_tried_on_top_only_says_what_it_brought_there():
    program = FewCores()
    machine = Machine(
        program.log_gain,
        rng=np.random.default_rng(0),
        noise=QUIET,
        compiling=program.compiling,
        check_cost=program.check_cost,
    )
    tuned = run_tune(program.proposals(), machine, options=SearchOptions(budget_ns=200 * 10**9))
    assert not [key for key in measured(tuned) if key == ("bf16",)]
    on_top = max((key for key in measured(tuned) if "bf16" in key), key=len)
    reason = verdict(tuned, "bf16").reason
    assert f"on top of {len(on_top) - 1} other(s) 1.1" in reason, reason


def test_one_shot_of_a_short_budget_has_no_compiler():
    known = tuple(proposal(name) for name in "abcdefgh")
    compiler = msgspec.structs.replace(proposal("compile"), compiles=True)
    tuned = tune({"a": 1.5}, proposals=(*known, compiler), options=SearchOptions(budget_ns=100 * 10**9))
    assert measured(tuned)[2] == tuple("abcdefgh")


def test_a_setting_that_a_member_holds_already_is_not_added():
    """One thread per operation is part of "one worker and one thread": together they are the same program."""
    composite = msgspec.structs.replace(proposal("worker,threads=1"), setting={"workers": 1, "threads": 1})
    single = msgspec.structs.replace(proposal("threads=1"), setting={"threads": 1})
    tuned = tune({"worker,threads=1": 1.5, "threads=1": 1.0, "c": 1.2}, proposals=(composite, single, proposal("c")))
    assert tuned.finish.chosen == ("worker,threads=1", "c")
    assert not any({"worker,threads=1", "threads=1"} <= set(key) for key in measured(tuned))
    together = tune(
        {"c": 1.5, "d": 1.3}, proposals=(composite, single, proposal("c"), proposal("d")), noise=Noise(sd=0.01)
    )
    assert any({"worker,threads=1", "c", "d"} <= set(key) for key in measured(together)), "everything is tried at once"
    assert not any({"worker,threads=1", "threads=1"} <= set(key) for key in measured(together))


def test_a_number_format_that_gained_nothing_alone_joins_only_by_a_gain_of_its_own():
    format_ = proposal("bf16", numerics=Numerics.PRECISION)
    tuned = tune({"a": 1.5, "b": 1.0, "bf16": 1.0}, proposals=(proposal("a"), proposal("b"), format_))
    everything = [key for key in measured(tuned) if len(key) > 2]
    assert tuned.finish.chosen == ("a",)
    assert not any("bf16" in key for key in everything)


def test_a_budget_too_small_to_confirm_is_spent_on_screening_and_says_what_would_do():
    """Trials of 6 s: two baselines, one candidate, check and confirmation take ninety, and sixty are there."""
    options = SearchOptions(budget_ns=int(60e9))
    gains = {"a": 1.5, "b": 1.0, "c": 1.2}
    tuned = tune(gains, options=options)
    assert tuned.finish.chosen == ()
    assert [key for key in measured(tuned) if len(key) == 1] == [("a",), ("b",), ("c",)]
    minutes = int(re.search(r"--budget (\d+)m", tuned.finish.reason).group(1))
    again = tune(gains, options=SearchOptions(budget_ns=minutes * 60 * 10**9))
    assert again.finish.chosen == ("a", "c")


def test_what_can_be_proven_within_the_budget_is_handed_over():
    """Check and confirmation of a compiled format do not fit at first; those of the exact change do."""
    known = (proposal("exact"), proposal("format", numerics=Numerics.PRECISION))
    chosen = {
        seconds: tune(
            {"exact": 1.5, "format": 1.3},
            proposals=known,
            options=SearchOptions(budget_ns=seconds * 10**9),
            cost={"format": 3.0},
        ).finish.chosen
        for seconds in range(60, 400, 20)
    }
    found = list(dict.fromkeys(chosen.values()))
    assert found[-1] == ("exact", "format")
    assert ("exact",) in found


def test_a_ceiling_grows_with_what_the_others_gained():
    """1.5 % of the step is 6 % of a step four times as fast."""
    known = (proposal("large", ceiling=5.0), proposal("tail", ceiling=1.015))

    def landscape(key):
        time = 1.0 - (0.75 if "large" in key else 0) - (0.014 if "tail" in key else 0)
        return -math.log(time)

    tuned = run_tune(known, Machine(landscape, rng=np.random.default_rng(0), noise=QUIET))
    assert tuned.finish.chosen == ("large", "tail")


def test_survivors_are_tried_together_right_after_screening():
    tuned = tune({"a": 1.5, "b": 1.3, "c": 1.2, "null": 1.0})
    sets = [key for key in measured(tuned) if len(key) > 1]
    assert sets[0] == ("a", "b", "c")
    assert tuned.finish.chosen == ("a", "b", "c")
    assert tuned.finish.speedup == pytest.approx(1.5 * 1.3 * 1.2, rel=0.02)
    assert verdict(tuned, "a", "b", "c").verdict is VerdictKind.FASTER
    assert verdict(tuned, "a", "b", "c").stage == "confirm"
    assert verdict(tuned, "null").verdict is not VerdictKind.FASTER


def test_a_member_that_adds_nothing_is_left_out():
    """Two ways to the same gain: either one, not both."""
    known = tuple(proposal(name) for name in ("workers", "cache", "other"))

    def landscape(key):
        return (math.log(2.0) if {"workers", "cache"} & set(key) else 0) + (math.log(1.2) if "other" in key else 0)

    tuned = run_tune(known, Machine(landscape, rng=np.random.default_rng(1), noise=QUIET))
    assert len(tuned.finish.chosen) == 2
    assert "other" in tuned.finish.chosen


def test_members_that_quarrel_are_not_joined():
    known = tuple(proposal(name) for name in ("a", "b"))

    def landscape(key):
        return math.log(0.5) if len(key) == 2 else math.log({"a": 1.5, "b": 1.3}.get(key[0], 1.0)) if key else 0.0

    tuned = run_tune(known, Machine(landscape, rng=np.random.default_rng(1), noise=QUIET))
    assert tuned.finish.chosen == ("a",)


def test_the_knee_not_the_maximum():
    """Four workers are half a percent faster than two: two it is."""
    known = tuple(proposal(name, group="workers") for name in ("w=1", "w=2", "w=4"))
    tuned = tune({"w=1": 1.3, "w=2": 2.0, "w=4": 2.01}, proposals=known, noise=Noise(sd=0.01))
    assert tuned.finish.chosen == ("w=2",)


def test_a_ladder_that_falls_is_not_climbed_to_its_end():
    known = tuple(proposal(f"w={n}", group="workers") for n in (1, 2, 3, 4, 5))
    tuned = tune({"w=1": 2.0, "w=2": 1.5, "w=3": 1.2, "w=4": 1.1, "w=5": 1.0}, proposals=known)
    assert ("w=4",) not in measured(tuned)
    assert verdict(tuned, "w=4").verdict is VerdictKind.UNDECIDED
    assert tuned.finish.chosen == ("w=1",)


def test_the_best_setting_is_looked_for_again_in_company():
    """Four workers pay only with one thread."""
    known = (
        proposal("w=2", group="workers"),
        proposal("w=4", group="workers"),
        proposal("threads=1", group="threads"),
        proposal("bf16"),
    )

    def landscape(key):
        gain = 0.2 if "bf16" in key else 0.0
        if "w=2" in key:
            gain += 0.5
        if "w=4" in key:
            gain += 0.9 if "threads=1" in key else 0.35
        return gain

    tuned = run_tune(known, Machine(landscape, rng=np.random.default_rng(1), noise=QUIET))
    assert tuned.finish.chosen == ("w=4", "threads=1", "bf16")


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (TrialOutcome.CRASHED, VerdictKind.INVALID),
        (TrialOutcome.HUNG, VerdictKind.INVALID),
        (TrialOutcome.OUT_OF_MEMORY, VerdictKind.INVALID),
        (TrialOutcome.NOT_FINITE, VerdictKind.UNSAFE),
        (TrialOutcome.TOO_FEW_STEPS, VerdictKind.INVALID),
        (TrialOutcome.COULD_NOT_ACT, VerdictKind.INVALID),
        (TrialOutcome.NOT_CONNECTED, VerdictKind.INVALID),
    ],
)
def test_a_failed_trial_is_a_result_and_is_not_repeated(outcome, kind):
    tuned = tune({"bad": 2.0, "good": 1.3}, failures={"bad": outcome})
    assert measured(tuned).count(("bad",)) == 1
    assert ("bad", "good") not in measured(tuned)
    assert verdict(tuned, "bad").verdict is kind
    assert verdict(tuned, "bad").reason
    assert tuned.finish.chosen == ("good",)


def test_a_combination_that_fails_does_not_take_its_members_with_it():
    tuned = tune({"a": 1.5, "b": 1.3, "c": 1.2}, failures={("a", "b", "c"): TrialOutcome.CRASHED})
    assert len(tuned.finish.chosen) == 2
    assert verdict(tuned, "a", "b", "c").verdict is VerdictKind.INVALID


def test_busy_trials_are_repeated_and_then_given_up():
    tuned = tune({"a": 1.5}, noise=Noise(sd=0.002, busy_chance=0.3))
    assert tuned.finish.chosen == ("a",)
    assert tuned.finish.invalid_trials > 0
    hopeless = tune({"a": 1.5}, noise=Noise(sd=0.002, busy_chance=1.0))
    assert hopeless.finish.chosen == ()
    assert len(hopeless.observations) == SearchOptions().busy_repeats + 1


def test_a_candidate_that_is_always_busy_is_invalid_and_the_rest_goes_on():
    tuned = tune({"a": 1.5, "b": 1.3}, failures={"a": TrialOutcome.BUSY})
    assert measured(tuned).count(("a",)) == SearchOptions().busy_repeats
    assert verdict(tuned, "a").verdict is VerdictKind.INVALID
    assert tuned.finish.chosen == ("b",)


def test_more_memory_than_allowed_says_so_and_is_not_chosen():
    gib = 1 << 30
    extra = {"hungry": 3 * gib, "modest": gib}
    tuned = tune({"hungry": 2.0, "modest": 1.3}, extra_bytes=extra)
    assert tuned.finish.chosen == ("modest",)
    found = verdict(tuned, "hungry")
    assert found.extra_peak_bytes == 3 * gib
    assert "3072 MiB" in found.reason
    assert found.verdict is VerdictKind.FASTER
    assert found.stage == "screen"
    asked = tune({"hungry": 2.0, "modest": 1.3}, extra_bytes=extra, options=SearchOptions(memory_bytes=8 * gib))
    assert asked.finish.chosen == ("hungry", "modest")


def test_device_memory_has_its_own_limit():
    search = start((proposal("a"),))
    for key, cost, device in (((), 100, 1000), ((), 100, 1000), (("a",), 50, 1150), ((), 100, 1000)):
        search = observe(search, trial(key, cost, peak_device_bytes=device))
    while not isinstance(search.action, Finish):
        assert isinstance(search.action, Measure)
        search = observe(
            search,
            trial(
                search.action.proposals,
                50 if search.action.proposals else 100,
                peak_device_bytes=1150 if search.action.proposals else 1000,
            ),
        )
    assert search.action.chosen == ()


def trial(key, cost: float, **more) -> Trial:
    return Trial(
        proposals=key,
        outcome=TrialOutcome.MEASURED,
        window_ns=round(cost * 1e9),
        window_steps=100,
        window_samples=more.pop("window_samples", 3200),
        wall_ns=round(cost * 1e9),
        **more,
    )


def test_an_unsafe_member_is_found_and_the_rest_goes_on():
    known = (
        proposal("bf16", numerics=Numerics.PRECISION),
        proposal("fused", numerics=Numerics.SAME_MATH),
        proposal("workers", numerics=Numerics.SAME_DISTRIBUTION),
    )
    tuned = tune({"bf16": 1.5, "fused": 1.2, "workers": 1.8}, proposals=known, unsafe=("bf16",))
    checks = [action.proposals for action in tuned.actions if isinstance(action, CheckNumerics)]
    assert checks[:2] == [("bf16", "fused", "workers"), ("bf16",)], "the riskiest member is suspected first"
    assert verdict(tuned, "bf16").verdict is VerdictKind.UNSAFE
    assert verdict(tuned, "bf16").gates
    assert tuned.finish.chosen == ("fused", "workers")
    assert tuned.finish.gates
    assert tuned.finish.numerics is Numerics.SAME_DISTRIBUTION


def test_a_combination_unsafe_only_together_gives_way_to_a_smaller_one():
    tuned = tune({"a": 1.5, "b": 1.3}, unsafe=(("a", "b"),))
    assert tuned.finish.chosen == ("a",)
    assert verdict(tuned, "a", "b").verdict is VerdictKind.UNSAFE


def test_nothing_safe_is_an_honest_zero():
    tuned = tune({"a": 1.5, "b": 1.3}, unsafe=("a", "b"))
    assert tuned.finish.chosen == ()
    assert tuned.finish.speedup == 1.0
    assert tuned.finish.ci is None
    assert not measured(tuned, purpose="confirm")


def test_a_gate_that_could_not_be_made_is_no_pass():
    search = start((proposal("a"),))
    while not isinstance(search.action, CheckNumerics):
        search = observe(search, trial(search.action.proposals, 50 if search.action.proposals else 100))
    gate = Gate(name="bit-equal", passed=None, detail="the program itself is not reproducible")
    search = observe(search, NumericsReport(proposals=("a",), gates=(gate,)))
    assert isinstance(search.action, Finish)
    assert search.action.chosen == ()
    assert "not reproducible" in search.action.verdicts[0].reason


def test_what_changes_the_training_by_consent_has_no_gate():
    known = (proposal("batch=64", numerics=Numerics.TRAINING), proposal("fused", numerics=Numerics.SAME_MATH))
    tuned = tune({"batch=64": 1.5, "fused": 1.3}, proposals=known)
    assert [action.proposals for action in tuned.actions if isinstance(action, CheckNumerics)] == [("fused",)]
    assert tuned.finish.chosen == ("batch=64", "fused")


def test_confirmation_runs_in_abba_order_and_stops_at_the_first_look_that_decides():
    tuned = tune({"a": 2.0})
    order = [bool(key) for key in measured(tuned, purpose="confirm")]
    assert order == [False, True, True, False] * 2
    assert tuned.finish.pairs == 4


def test_the_interval_clears_the_margin_and_covers_the_truth():
    tuned = tune({"a": 1.10}, noise=Noise(sd=0.01), seed=3)
    low, high = tuned.finish.ci
    assert 1.02 < low < 1.10 < high
    assert low < tuned.finish.speedup < high


def test_speed_is_per_sample_when_the_batch_changes():
    """Twice the batch in 1.5 times the time per step is faster, though every step is slower."""
    search = start((proposal("batch=64", numerics=Numerics.TRAINING),))
    while not isinstance(search.action, Finish):
        key = search.action.proposals
        search = observe(search, trial(key, 150 if key else 100, window_samples=6400 if key else 3200))
    assert search.action.chosen == ("batch=64",)
    assert search.action.speedup == pytest.approx(4 / 3)


def test_an_unchanged_program_that_fails_ends_the_search_with_its_error():
    search = start((proposal("a"),))
    failed = Trial(proposals=(), outcome=TrialOutcome.CRASHED, detail="ValueError: no data")
    search = observe(observe(search, failed), failed)
    assert isinstance(search.action, Finish)
    assert "ValueError: no data" in search.action.reason


def test_nothing_proposed_is_nothing_done():
    assert isinstance(start(()).action, Finish | Measure)
    search = start(())
    assert isinstance(next_action(search), Finish)
    assert next_action(search).trials == 0


def test_two_proposals_of_one_name_are_refused():
    with pytest.raises(ValueError, match="not unique"):
        start((proposal("a"), proposal("a")))
    with pytest.raises(KeyError, match="not proposed"):
        canonical(("b",), proposals=(proposal("a"),))


@pytest.mark.parametrize("seed", range(6))
def test_replaying_the_journal_rebuilds_the_state_at_every_point(seed):
    """What `--resume` rests on, through the journal's own encoding."""
    program = random_program(np.random.default_rng(seed))
    noise = Noise(sd=0.03, busy_chance=0.05)
    options = SearchOptions(budget_ns=int(500e9))
    machine = Machine(program.log_gain, rng=np.random.default_rng(seed), noise=noise, unsafe=("bf16",))
    tuned = run_tune(program.proposals(), machine, options=options)
    stored = [msgspec.json.decode(msgspec.json.encode(one), type=Observation) for one in tuned.observations]
    assert stored == list(tuned.observations)
    for end in range(0, len(stored) + 1, 5):
        again = replay(program.proposals(), stored[:end], options=options)
        assert again.action == tuned.actions[end]
    assert replay(program.proposals(), stored, options=options) == tuned.search


def test_after_the_end_nothing_changes():
    tuned = tune({"a": 2.0})
    assert observe(tuned.search, tuned.observations[0]) is tuned.search


def test_repeats_are_counted_per_set():
    tuned = tune({"a": 1.5, "b": 1.0}, noise=Noise(sd=0.01))
    seen: dict[tuple[str, ...], list[int]] = {}
    for action in tuned.actions:
        if isinstance(action, Measure):
            seen.setdefault(action.proposals, []).append(action.repeat)
    for repeats in seen.values():
        assert repeats == sorted(set(repeats))
        assert all(b == a + 1 for a, b in pairwise(repeats))


def test_a_finalist_that_crashes_in_its_first_confirmation_run_gives_way_to_the_next_best():
    search = start((proposal("a"), proposal("b")))
    costs = {(): 100, ("a",): 60, ("b",): 80, ("a", "b"): 45}
    while not isinstance(search.action, Finish):
        action = search.action
        if isinstance(action, CheckNumerics):
            gate = Gate(name="bit-equal", passed=True)
            search = observe(search, NumericsReport(proposals=action.proposals, gates=(gate,)))
        elif action.purpose == "confirm" and len(action.proposals) == 2:
            search = observe(search, Trial(proposals=action.proposals, outcome=TrialOutcome.CRASHED, detail="flaky"))
        else:
            search = observe(search, trial(action.proposals, costs[action.proposals]))
    assert search.action.chosen == ("a",)
    assert next(one for one in search.action.verdicts if len(one.treatments) == 2).verdict is VerdictKind.INVALID


def test_an_undecided_verdict_says_what_would_decide_and_what_would_have_been_seen():
    tunes = (tune({"a": 1.1}, noise=Noise(sd=0.03), seed=seed, options=SearchOptions(looks=(4,))) for seed in range(20))
    tuned = next(one for one in tunes if one.finish.pairs == 0 and one.finish.further_pairs)
    found = verdict(tuned, "a")
    assert found.verdict is VerdictKind.UNDECIDED
    assert tuned.finish.further_pairs > 0
    assert f"about {tuned.finish.further_pairs} more" in found.reason
    assert "would have shown a gain of" in found.reason


def test_runs_that_become_dearer_during_the_confirmation_end_it_within_the_budget():
    second = 10**9
    search = start((proposal("a"),), options=SearchOptions(budget_ns=2000 * second, looks=(8, 16)))
    last_ns = 0
    while not isinstance(search.action, Finish):
        action = search.action
        if isinstance(action, CheckNumerics):
            search = observe(search, NumericsReport(proposals=("a",), gates=(Gate(name="finite", passed=True),)))
            continue
        dear = 5 if action.purpose == "confirm" else 1
        found = trial(action.proposals, 50 if action.proposals else 60)
        last_ns = found.wall_ns * dear
        search = observe(search, msgspec.structs.replace(found, wall_ns=last_ns))
    assert search.action.spent_ns <= 2000 * second + last_ns
    assert "during the confirmation" in search.action.reason


def test_what_could_not_be_checked_is_not_accused():
    class Unable(Machine):
        def answer(self, action):
            if isinstance(action, CheckNumerics):
                gate = Gate(name="teacher-forced", passed=None, detail="several ranks")
                return NumericsReport(proposals=action.proposals, gates=(gate,))
            return super().answer(action)

    machine = Unable(lambda key: math.log(1.5) if key else 0.0, rng=np.random.default_rng(0), noise=Noise(sd=0.01))
    finish = run_tune((proposal("bf16"),), machine).finish
    assert finish.chosen == ()
    assert "could not be checked" in finish.reason
    (verdict,) = finish.verdicts
    assert (verdict.verdict, verdict.speedup) == ("undecided", pytest.approx(1.5, rel=0.05))
    assert "several ranks" in verdict.reason


def test_screening_goes_on_when_what_paid_turns_out_unsafe():
    """Ladders whose first setting harms give way to what pays; where that fails its gate, they are climbed after all."""
    known = (
        proposal("format", numerics=Numerics.PRECISION),
        proposal("worker=1", group="workers"),
        proposal("worker=2", group="workers"),
    )
    gains = {"format": 1.5, "worker=1": 0.9, "worker=2": 1.3}
    tuned = tune(gains, proposals=known, unsafe=("format",))
    assert verdict(tuned, "format").verdict is VerdictKind.UNSAFE
    assert tuned.finish.chosen == ("worker=2",)


def test_a_busy_machine_is_waited_for_up_to_half_of_the_budget():
    busy = Noise(sd=0.002, busy_chance=1.0)
    tuned = tune({"a": 1.5}, noise=busy, options=SearchOptions(budget_ns=120 * 10**9))
    assert tuned.finish.chosen == ()
    assert "busy" in tuned.finish.reason
    assert 60e9 < tuned.finish.spent_ns < 75e9


def test_while_nothing_pays_the_time_kept_for_whole_programs_is_for_looking_on():
    program = null_program()
    options = SearchOptions(budget_ns=135_000_000_000, reserve_ns=45_000_000_000)
    machine = Machine(program.log_gain, rng=np.random.default_rng(3), noise=Noise(sd=0.01))
    finish = run_tune(program.proposals(), machine, options=options).finish
    assert not finish.chosen
    assert finish.spent_ns > options.budget_ns * 0.65, "it is not given up with half of the time left"
