"""Processes of one loader are added up, and workers find their loader by the number that they share with it."""

from pitstop.measure.pipelines import loaders_of_seeds, merged_census, merged_pipelines
from pitstop.records import CensusSighting, Event, EventKind, LeafCensus, PipelineSighting


def begins(loader, seed):
    return Event(kind=EventKind.LOADER_ITER, start_ns=1, end_ns=2, arg=loader, value=seed)


def worker(number, seed, batches, **more):
    return PipelineSighting(loader=0, seed=seed, worker=number, batches=batches, samples=8 * batches, **more)


def test_the_last_word_of_each_process_counts_and_epochs_are_added():
    seeds = loaders_of_seeds([begins(1, 100), begins(2, 200), begins(1, 300)])
    processes = [
        [worker(0, 100, 1), worker(0, 100, 4, load_ns=40, sample_times_ns=(1, 2), shared_free_bytes=7)],
        [worker(1, 100, 2, load_ns=10, shared_free_bytes=5)],
        [worker(0, 300, 3, load_ns=1)],
        [PipelineSighting(loader=2, batches=5, samples=5)],
    ]
    one, two = merged_pipelines(processes, seeds)
    assert (one.loader, one.processes, one.batches, one.samples, one.load_ns) == (1, 3, 9, 72, 51)
    assert (one.sample_times_ns, one.shared_free_bytes, one.worker) == ((1, 2), 5, None)
    assert (two.loader, two.batches) == (2, 5)


def test_workers_whose_loader_cannot_be_told_are_left_out():
    seeds = loaders_of_seeds([begins(1, 100), begins(2, 100), begins(3, 0)])
    assert seeds == {}
    assert merged_pipelines([[worker(0, 100, 4)], [worker(0, 7, 4)]], seeds) == ()


def test_census_of_processes_is_one():
    def leaf(length, padded):
        return LeafCensus(path="", dtypes=("torch.int64",), shapes=((4, length),), places=4 * length, padded=padded)

    processes = [
        [
            CensusSighting(
                loader=0, seed=9, worker=0, batches=2, batch_bytes=64, smallest=4, largest=4, leaves=(leaf(8, 3),)
            )
        ],
        [
            CensusSighting(
                loader=0, seed=9, worker=1, batches=1, batch_bytes=32, smallest=2, largest=4, leaves=(leaf(10, 5),)
            )
        ],
    ]
    (seen,) = merged_census(processes, {9: 1})
    assert (seen.loader, seen.batches, seen.batch_bytes, seen.smallest, seen.largest) == (1, 3, 96, 2, 4)
    assert seen.leaves[0].shapes == ((4, 8), (4, 10))
    assert seen.leaves[0].padding == 8 / 72
