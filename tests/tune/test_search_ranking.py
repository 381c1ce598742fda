import msgspec
import pytest

from pitstop.stats.screening import ScreenEstimate
from pitstop.tune.search import start
from pitstop.tune.search_actions import SearchOptions
from pitstop.tune.search_facts import tabulate
from pitstop.tune.search_ranking import best_known, choose_finalists
from pitstop.tune.search_walk import View
from pitstop.tune.simulate_programs import null_program

PROPOSALS = null_program().proposals()


def view(estimates: dict[tuple[str, ...], tuple[float, float]], **more) -> View:
    """Estimates as (log ratio, standard error)."""
    facts = start(PROPOSALS, options=SearchOptions(max_finalists=more.pop("most", 3))).facts
    known = {
        key: ScreenEstimate(log_ratio=gain, standard_error=error, runs=1) for key, (gain, error) in estimates.items()
    }
    return View(facts=facts, table=msgspec.structs.replace(tabulate(facts), estimates=known), **more)


def test_a_clear_best_is_confirmed_alone():
    seen = view({("bf16",): (0.5, 0.02), ("compile",): (0.49, 0.02)})
    assert choose_finalists(("bf16",), view=seen) == (("bf16",),)


def test_what_noise_does_not_tell_apart_is_confirmed_together():
    seen = view(
        {
            ("bf16",): (0.07, 0.03),
            ("compile",): (0.06, 0.03),
            ("fused-adam",): (0.05, 0.03),
            ("threads=1",): (0.01, 0.03),
        }
    )
    assert choose_finalists(("bf16",), view=seen) == (("bf16",), ("compile",), ("fused-adam",))


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_finalists_than_asked_for(most):
    seen = view({("bf16",): (0.07, 0.03), ("compile",): (0.06, 0.03), ("fused-adam",): (0.05, 0.03)}, most=most)
    assert len(choose_finalists(("bf16",), view=seen)) == most


def test_what_failed_a_gate_is_never_the_best():
    estimates = {("bf16",): (0.5, 0.02), ("compile",): (0.3, 0.02), ("bf16", "compile"): (0.7, 0.02)}
    assert best_known(view(estimates)) == ("bf16", "compile")
    assert best_known(view(estimates, forbidden=frozenset({("bf16", "compile")}))) == ("bf16",)
    assert best_known(view(estimates, excluded=frozenset({"bf16"}))) == ("compile",)
    assert best_known(view({("bf16",): (0.005, 0.02)})) == ()
