"""Break-even: after how many steps a change has paid for its start."""

from pitstop.records import Trial, TrialOutcome
from pitstop.tune.break_even import break_even_steps

MS = 1_000_000


def trial(*proposals: str, step_ms: float, first_ms: float, outcome: TrialOutcome = TrialOutcome.MEASURED) -> Trial:
    measured = outcome is TrialOutcome.MEASURED
    return Trial(
        proposals=proposals,
        outcome=outcome,
        window_ns=round(100 * step_ms * MS) if measured else None,
        window_steps=100 if measured else 0,
        first_ns=round(first_ms * MS),
    )


def test_compile_time_is_paid_back_by_saved_step_time():
    trials = [
        trial(step_ms=100, first_ms=5_000),
        trial("compile", step_ms=50, first_ms=25_000),  # cold
        trial("compile", step_ms=50, first_ms=8_000),  # warm: not what the user's first run pays
    ]
    assert break_even_steps(trials, chosen=("compile",)) == 400


def test_a_change_that_costs_nothing_at_the_start_pays_at_once():
    trials = [trial(step_ms=100, first_ms=5_000), trial("fused", step_ms=90, first_ms=4_900)]
    assert break_even_steps(trials, chosen=("fused",)) == 0


def test_nothing_chosen_or_nothing_saved_has_no_break_even():
    trials = [trial(step_ms=100, first_ms=5_000), trial("x", step_ms=100, first_ms=5_000)]
    assert break_even_steps(trials, chosen=()) is None
    assert break_even_steps(trials, chosen=("x",)) is None
    assert break_even_steps([trial("x", step_ms=50, first_ms=1)], chosen=("x",)) is None


def test_a_busy_first_trial_is_cold_all_the_same():
    trials = [
        trial(step_ms=100, first_ms=5_000),
        trial("compile", step_ms=0, first_ms=25_000, outcome=TrialOutcome.BUSY),
        trial("compile", step_ms=50, first_ms=8_000),
    ]
    assert break_even_steps(trials, chosen=("compile",)) == 400
