"""The first sentence says the main thing and never more than was measured."""

import msgspec
import pytest

from pitstop.records.results import Patched, TuneResult
from pitstop.report.content.headline import caveats, profile_headline, tune_headline

from .samples import photo_profile, photo_tune, photo_verdicts, starved_tune, stepless_profile, zero_tune


def with_prescription(**changes: object) -> TuneResult:
    tune = photo_tune()
    return msgspec.structs.replace(tune, prescription=msgspec.structs.replace(tune.prescription, **changes))


def test_a_profile_starts_with_the_largest_share_and_what_can_be_gained() -> None:
    assert profile_headline(photo_profile()) == (
        "62 % of each step waits for data; a step would be at most 2.62x as fast without the first finding: "
        + photo_profile().findings[0].title
    )


def test_an_unbounded_ceiling_is_not_promised() -> None:
    profile = photo_profile()
    unbounded = msgspec.structs.replace(profile.findings[0], ceiling_speedup=float("inf"))
    assert (
        profile_headline(msgspec.structs.replace(profile, findings=(unbounded,))) == "62 % of each step waits for data"
    )


def test_a_healthy_program_is_told_so() -> None:
    assert profile_headline(msgspec.structs.replace(photo_profile(), findings=())) == (
        "62 % of each step waits for data; nothing that this version looks for was found"
    )


def test_a_program_without_steps_gets_no_share() -> None:
    assert "%" not in profile_headline(stepless_profile())


@pytest.mark.parametrize("category", list(photo_profile().ledger))
def test_every_category_can_be_the_largest(category: str, each_language: str) -> None:
    profile = msgspec.structs.replace(photo_profile(), ledger={category: 0.9, "unknown": 0.1}, findings=())
    assert "90" in profile_headline(msgspec.structs.replace(profile, ledger={category: 0.9}))


def test_a_tune_starts_with_the_patched_program_measured_by_itself() -> None:
    """2.34 is what the changes reached in trials; the patched program reached 2.31, and that is the claim."""
    headline = tune_headline(photo_tune())
    assert headline.startswith("2.31x [2.18, 2.44] as fast")
    assert "2.34" not in headline


def test_an_interval_that_touches_one_is_no_claim() -> None:
    headline = tune_headline(
        with_prescription(patched=Patched(speedup=1.04, ci=(0.998, 1.08), pairs=6, how="step-clock"))
    )
    assert headline.startswith("No certain gain")


def test_changes_whose_patch_was_not_measured_are_no_claim() -> None:
    assert "not yet a claim" in tune_headline(with_prescription(patched=None))


def test_the_honest_zero_counts_what_was_tried_and_names_the_margin() -> None:
    tune = zero_tune()
    assert tune_headline(tune) == (
        f"Changes tried: {len(tune.verdicts)}; none made the program faster by more than 2 % with certainty. Leave it as it is"
    )
    assert "more than 5 %" in tune_headline(msgspec.structs.replace(tune, margin=0.05))


def test_undecided_changes_are_not_called_useless() -> None:
    """Only where everything was decided may the reader be told to leave the program as it is."""
    left = tuple(verdict for verdict in photo_verdicts() if verdict.verdict != "faster")
    headline = tune_headline(msgspec.structs.replace(zero_tune(), verdicts=left))
    assert headline.startswith("Changes tried: 7; none is certain")
    assert headline.endswith("still undecided: 2")


def test_what_cannot_gain_enough_is_not_open() -> None:
    some = next(verdict for verdict in photo_verdicts() if verdict.verdict == "slower")
    ruled_out = msgspec.structs.replace(some, verdict="undecided", speedup=None, predicted=(1.0, 1.01))
    headline = tune_headline(msgspec.structs.replace(zero_tune(), verdicts=(some, ruled_out)))
    assert headline.startswith("Changes tried: 1; none made the program faster")
    alone = msgspec.structs.replace(zero_tune(), verdicts=(ruled_out,))
    assert tune_headline(alone).startswith("None of the 1 changes that could be tried here could gain more than 2 %")
    assert not alone.nothing_measured
    assert starved_tune().nothing_measured


def test_changes_that_were_never_run_were_not_tried() -> None:
    headline = tune_headline(starved_tune())
    assert headline == "None of the 9 possible changes could be measured, so nothing is known about them yet"
    assert caveats(starved_tune()) == ("the machine stayed busy with other work",)
    some = (*zero_tune().verdicts, starved_tune().verdicts[0])
    assert tune_headline(msgspec.structs.replace(zero_tune(), verdicts=some)).startswith(
        "Changes tried: 5; none is certain"
    )


def test_faster_changes_that_could_not_be_handed_over_are_not_called_useless() -> None:
    tune = msgspec.structs.replace(zero_tune(), verdicts=photo_verdicts())
    assert "2 were faster, but none could be handed over" in tune_headline(tune)


def test_nothing_to_try_is_not_the_same_as_nothing_helped() -> None:
    assert "nothing that pitstop could try" in tune_headline(msgspec.structs.replace(zero_tune(), verdicts=()))


def test_the_reader_learns_how_results_may_differ_and_what_the_window_missed() -> None:
    assert any("random stream" in text for text in caveats(photo_tune()))
    assert any("epoch edge" in text for text in caveats(with_prescription(steady_only=True)))
    assert caveats(msgspec.structs.replace(zero_tune(), reason="")) == ()


def test_a_patch_that_is_faster_per_step_only_says_from_which_length_it_pays() -> None:
    """Two pairs of whole runs of a short program that compiles: 0.87x, although its steps ran at 1.59x."""
    patched = msgspec.structs.replace(photo_tune().prescription.patched, speedup=0.87, ci=(0.5, 1.51), how="end-to-end")
    tune = with_prescription(patched=patched, break_even_steps=706)
    assert "runs of more than 706 steps" in " ".join(caveats(tune))
    headline = tune_headline(tune)
    assert headline.startswith("No certain gain of the whole program: the patched one ran at 0.87x [0.50, 1.51]")
    assert "Its steps are 2.34x" in headline
    for other in (with_prescription(patched=patched, break_even_steps=0), photo_tune()):
        assert "steps, and this one" not in " ".join(caveats(other))
