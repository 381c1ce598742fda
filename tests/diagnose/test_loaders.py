from pitstop.diagnose.loaders import loader_roles
from pitstop.records import Event, EventKind

F, W, B, S, E = EventKind.FETCH, EventKind.FORWARD, EventKind.BACKWARD, EventKind.OPTIMIZER, EventKind.EPOCH_END


def roles(*kinds_and_loaders):
    events = [
        Event(
            kind=W if kind == "no_grad" else kind,
            arg=loader,
            start_ns=index,
            end_ns=index + 1,
            flags=0 if kind == "no_grad" else 3,
        )
        for index, (kind, loader) in enumerate(kinds_and_loaders)
    ]
    found = loader_roles(events)
    return set(found.training), set(found.evaluation)


def test_a_loader_whose_batches_are_followed_by_a_backward_trains():
    train, validate = [(F, 1), (W, 0), (B, 0), (S, 0)], [(F, 2), (W, 0)]
    assert roles(*train * 3, *validate * 2, *train) == ({1}, {2})


def test_two_loaders_zipped_train_together():
    assert roles(*[(F, 1), (F, 2), (W, 0), (B, 0)] * 3) == ({1, 2}, set())


def test_asking_an_exhausted_loader_does_not_make_it_train():
    assert roles((F, 2), (W, 0), (F, 2), (E, 2), (F, 1), (W, 0), (B, 0)) == ({1}, {2})


def test_a_loader_of_one_batch_per_epoch_trains():
    epoch = [(F, 1), (W, 0), (B, 0), (F, 1), (E, 1)]
    assert roles(*epoch * 3) == ({1}, set())


def test_accumulation_counts_each_micro_batch():
    assert roles(*[(F, 1), (W, 0), (B, 0)] * 4, (S, 0)) == ({1}, set())


def test_prefetching_by_hand_still_trains():
    """The next batch is asked for before this one is used."""
    assert roles((F, 1), *[(F, 1), (W, 0), (B, 0)] * 4) == ({1}, set())


def test_events_out_of_order_are_put_in_order():
    events = [
        Event(kind=B, start_ns=30, end_ns=31),
        Event(kind=F, arg=7, start_ns=10, end_ns=11),
        Event(kind=W, start_ns=20, end_ns=21),
    ]
    assert loader_roles(events).training == {7}


def test_nothing_seen_gives_no_roles():
    assert roles() == (set(), set())


def test_losses_of_several_batches_summed_up_for_one_backward_train_with_all_of_them():
    assert roles(*[*[(F, 1), (W, 0)] * 4, (B, 0), (S, 0)] * 3) == ({1}, set())


def test_a_library_that_asks_for_one_batch_ahead_does_not_mix_up_loaders():
    """The last training batch comes after the evaluation in the middle of the epoch, and after its loader's end."""
    train = [(F, 1), (W, 0), (B, 0), (S, 0)]
    evaluation = [(F, 2), (E, 2), ("no_grad", 0)]
    assert roles((F, 1), *train * 3, (E, 1), *evaluation, (W, 0), (B, 0), (S, 0)) == ({1}, {2})


def test_an_evaluation_that_stops_in_the_middle_does_not_train():
    evaluation = [*[(F, 2), (W, 0)] * 5, (F, 2)]
    assert roles(*[*[(F, 1), (W, 0), (B, 0)] * 4, *evaluation] * 3, (F, 1), (W, 0), (B, 0)) == ({1}, {2})


def test_loaders_of_loops_that_never_go_backward_all_count():
    assert roles(*[(F, 1), ("no_grad", 0), (F, 2), ("no_grad", 0)] * 3) == ({1, 2}, set())
