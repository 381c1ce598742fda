from pitstop.records import Event, EventKind
from pitstop.treat import loader_roles

F, W, B, S, E = EventKind.FETCH, EventKind.FORWARD, EventKind.BACKWARD, EventKind.OPTIMIZER, EventKind.EPOCH_END


def roles(*kinds_and_loaders):
    events = [
        Event(kind=kind, arg=loader, start_ns=index, end_ns=index + 1)
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
