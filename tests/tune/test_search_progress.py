import numpy as np
import pytest

from pitstop.tune.search import observe, start
from pitstop.tune.search_actions import Finish, SearchOptions
from pitstop.tune.search_progress import describe
from pitstop.tune.simulate import Machine, Noise
from pitstop.tune.simulate_programs import null_program, random_program


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("budget_s", [None, 200, 600])
def test_progress_moves_from_nothing_to_all(seed, budget_s):
    program = random_program(np.random.default_rng(seed))
    machine = Machine(program.log_gain, rng=np.random.default_rng(seed), noise=Noise(sd=0.02, busy_chance=0.02))
    search = start(program.proposals(), options=SearchOptions(budget_ns=budget_s and budget_s * 10**9))
    phases = []
    first = describe(search)
    assert first.done == 0
    assert first.eta_ns is None, "nothing is known before the first baseline"
    made = 0
    while not isinstance(search.action, Finish):
        progress = describe(search)
        assert progress.done == made
        assert progress.expected > progress.done
        if progress.eta_ns is not None and budget_s:
            assert progress.eta_ns <= budget_s * 10**9 - search.facts.spent_ns
        phases.append(progress.phase)
        search = observe(search, machine.answer(search.action))
        made += 1
    end = describe(search)
    assert (end.phase, end.done, end.expected, end.eta_ns) == ("finished", made, made, 0)
    assert phases[0] == "screening"
    assert set(phases) <= {"screening", "combining", "gating", "confirming"}


def test_the_estimate_is_of_the_right_size():
    """Half-way through screening of a program with nothing to find, within a factor of three of what it takes."""
    program = null_program()
    machine = Machine(program.log_gain, rng=np.random.default_rng(1), noise=Noise(sd=0.01))
    search = start(program.proposals())
    seen = []
    while not isinstance(search.action, Finish):
        progress = describe(search)
        seen.append((progress.eta_ns, search.facts.spent_ns))
        search = observe(search, machine.answer(search.action))
    eta_ns, spent_ns = seen[5]
    took_ns = search.facts.spent_ns - spent_ns
    assert took_ns / 3 < eta_ns < took_ns * 3
