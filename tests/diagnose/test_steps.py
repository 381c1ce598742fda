"""Which event ends a step, in the loops that people write."""

import pytest

from pitstop.diagnose.loaders import training_loaders
from pitstop.diagnose.steps import find_steps, steps_per_epoch
from pitstop.records import GRADIENTS, Event, EventKind, Evidence, LoaderSighting


def timeline(*kinds: tuple[EventKind, int]) -> list[Event]:
    return [
        Event(
            kind=kind, start_ns=10 * i, end_ns=10 * i + 10, arg=arg, value=4 if kind is EventKind.FETCH else 0, flags=3
        )
        for i, (kind, arg) in enumerate(kinds)
    ]


F, FW, B, O = EventKind.FETCH, EventKind.FORWARD, EventKind.BACKWARD, EventKind.OPTIMIZER  # noqa: E741


def test_an_optimizer_step_ends_a_step():
    steps = find_steps(timeline(*[(F, 1), (FW, 1), (B, 0), (O, 1)] * 12))
    assert steps.clock == "optimizer"
    assert steps.count == 12
    assert steps.samples[3] == 4


def test_accumulation_keeps_micro_steps_apart_from_steps():
    steps = find_steps(timeline(*([(F, 1), (FW, 1), (B, 0)] * 4 + [(O, 1)]) * 10))
    assert steps.count == 10
    assert steps.micro_steps == 4
    assert steps.samples[2] == 16


def test_two_optimizers_make_one_step_that_ends_with_the_second():
    events = timeline(*[(F, 1), (FW, 1), (B, 0), (O, 1), (FW, 2), (B, 0), (O, 2)] * 10)
    steps = find_steps(events)
    assert steps.count == 10
    assert steps.ends_ns[0] == events[6].end_ns


def test_five_critic_updates_belong_to_one_generator_update():
    steps = find_steps(timeline(*([(F, 1), (FW, 1), (B, 0), (O, 1)] * 5 + [(FW, 2), (B, 0), (O, 2)]) * 6))
    assert steps.count == 6
    assert steps.micro_steps == 6


def test_optimizers_that_follow_each_other_count_as_one():
    """A new optimizer per fold, or one for each phase: all of their updates are steps."""
    folds = [part for fold in (1, 2, 3) for part in [(F, 1), (FW, 1), (B, 0), (O, fold)] * 7]
    steps = find_steps(timeline(*folds))
    assert (steps.count, steps.micro_steps) == (21, 1)


def test_pairs_of_optimizers_made_anew_keep_their_cycle():
    pairs = [
        part for first in (1, 3) for part in [(F, 1), (FW, 1), (B, 0), (O, first), (FW, 2), (B, 0), (O, first + 1)] * 5
    ]
    steps = find_steps(timeline(*pairs))
    assert (steps.count, steps.micro_steps) == (10, 2)


@pytest.mark.parametrize(
    ("loop", "clock"),
    [([(F, 1), (FW, 1), (B, 0)], "backward"), ([(F, 1), (FW, 1)], "forward"), ([(F, 1)], "fetch")],
)
def test_without_an_optimizer_the_clock_falls_back(loop, clock):
    steps = find_steps(timeline(*loop * 9))
    assert (steps.clock, steps.count) == (clock, 9)


def test_a_model_and_its_criterion_make_one_step_per_batch():
    steps = find_steps(timeline(*[(F, 1), (FW, 1), (FW, 2)] * 9))
    assert (steps.clock, steps.count, steps.samples) == ("forward", 9, (4,) * 9)


def test_a_decoder_called_for_each_token_belongs_to_the_step_of_its_prompt():
    steps = find_steps(timeline(*[(FW, 1), *[(FW, 2)] * 20] * 9))
    assert (steps.clock, steps.count) == ("forward", 9)


def test_gradients_asked_for_by_hand_end_steps_where_nothing_goes_backward():
    by_hand = [(F, 1), (FW, 1), (B, GRADIENTS)]
    steps = find_steps(timeline(*by_hand * 9, *[(F, 2), (FW, 1)] * 5))
    assert (steps.clock, steps.count) == ("backward", 9)
    penalty = find_steps(timeline(*[(F, 1), (FW, 1), (B, GRADIENTS), (B, 0)] * 9))
    assert (penalty.clock, penalty.count) == ("backward", 9)
    with_optimizer = find_steps(timeline(*[(F, 1), (FW, 1), (B, GRADIENTS), (B, 0), (O, 1)] * 9))
    assert (with_optimizer.count, with_optimizer.micro_steps) == (9, 1)


def test_nothing_that_ends_a_step_is_no_steps():
    assert find_steps(timeline((EventKind.GC, 2), (EventKind.CHECKPOINT, 0))) is None


def test_the_validation_loader_does_not_feed_training():
    events = timeline(
        *[(F, 1), (FW, 1), (B, 0), (O, 1)] * 8, *[(F, 2), (FW, 1)] * 5, *[(F, 1), (FW, 1), (B, 0), (O, 1)] * 8
    )
    assert training_loaders(events) == {1}


def test_epoch_edges_are_where_the_training_loader_is_iterated_again():
    epoch = [(EventKind.LOADER_ITER, 1), *[(F, 1), (FW, 1), (B, 0), (O, 1)] * 5]
    steps = find_steps(timeline(*epoch * 4))
    assert steps.epoch_edges == (5, 10, 15)
    assert steps_per_epoch(steps, Evidence(project_root="/")) == 5


def test_workers_batches_that_were_ready_are_warm_up():
    loader = LoaderSighting(
        id=1,
        stack=(),
        num_workers=4,
        batch_size=8,
        prefetch_factor=2,
        persistent_workers=False,
        pin_memory=False,
        multiprocessing_context=None,
        dataset_class="d",
        dataset_len=800,
        iterable=False,
        sampler_class=None,
    )
    evidence = Evidence(project_root="/", loaders=(loader,))
    steps = find_steps(timeline(*[(F, 1), (FW, 1), (B, 0), (O, 1)] * 40), evidence=evidence)
    assert steps.warmup == 8
    assert steps_per_epoch(steps, evidence, frozenset({1})) == 100
