"""What a trial of one batch size says, and the comparison of losses whole and in parts."""

import pytest

from pitstop.records import EndOfRun, Event, EventKind, Evidence, ProcessEvents, Program, Run, TreeUsage
from pitstop.tune.fit_reading import Limit, compare_losses, read_fit
from pitstop.tune.fit_search import Fit, Try
from pitstop.tune.gates_material import EpochSeen, EquivalenceRun, LoaderSeen

GIB = 1 << 30
LIMIT = Limit(kind="address-space", num_bytes=2 * GIB)


def run(*, exit_code=0, steps=4, peak=GIB, device=None, whole=None, timed_out=False, over=False):
    events = tuple(
        Event(kind=EventKind.OPTIMIZER, flags=0, thread=0, arg=1, start_ns=t * 1000 - 10, end_ns=t * 1000, value=0)
        for t in range(1, steps + 1)
    )
    end = EndOfRun(reason="stopped", steps=steps, peak_address_bytes=peak, peak_device_bytes=device, device_bytes=whole)
    return Run(
        program=Program(argv=("python",), cwd="/"), exit_code=exit_code, started_ns=0, ended_ns=10_000,
        processes=(ProcessEvents(pid=1, role="main", events=events),), evidence=Evidence(project_root="/"),
        usage=TreeUsage(), end=end, timed_out=timed_out, over_memory=over,
    )  # fmt: skip


def read(found, *, tail="", lifted=False):
    action = Try(batch=16, phase="timing", lifted=lifted)
    return read_fit(found, action, limit=LIMIT, samples_per_step=64, error_tail=tail)


def test_a_run_that_ends_well_fits_and_its_time_is_per_sample():
    found = read(run())
    assert found.outcome is Fit.FITS
    assert found.ns_per_sample == pytest.approx(1000 / 64)
    assert found.peak_bytes == GIB


def test_a_peak_above_nine_tenths_is_tight_on_the_host_and_on_a_device():
    assert read(run(peak=round(1.9 * GIB))).outcome is Fit.TIGHT
    assert read(run(device=95, whole=100)).outcome is Fit.TIGHT
    assert read(run(device=80, whole=100)).outcome is Fit.FITS
    assert read(run(peak=round(1.9 * GIB)), lifted=True).outcome is Fit.FITS


@pytest.mark.parametrize(
    "tail",
    [
        "MemoryError",
        "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes.",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 MiB",
        "libgomp: Thread creation failed: Resource temporarily unavailable",
        "ImportError: libtorch.so: failed to map segment from shared object",
    ],
)
def test_running_out_of_memory_is_recognised_by_its_words(tail):
    assert read(run(exit_code=1), tail=tail).outcome is Fit.OUT_OF_MEMORY


def test_a_kill_is_out_of_memory_and_other_ends_are_failures():
    assert read(run(exit_code=137)).outcome is Fit.OUT_OF_MEMORY
    assert read(run(over=True)).outcome is Fit.OUT_OF_MEMORY
    assert read(run(exit_code=137, timed_out=True)).outcome is Fit.FAILED
    assert read(run(exit_code=1), tail="ValueError: no").detail == "ValueError: no"
    assert read(run(steps=1)).outcome is Fit.FAILED


def seen(losses, rows=("a", "b", "c", "d")):
    loader = LoaderSeen(
        number=1,
        with_grad=1,
        epochs=(EpochSeen(ids=(), samples=4, complete=False),),
        batches=(),
        rows=(rows,),
        moments=(),
    )
    return EquivalenceRun(
        seed_offset=0, steps=len(losses), losses=losses, rhythm=(), settings=(), finite=True, complete=True, closure=False,
        hash_end=None, loaders=(loader,), replays=(), captures=(), faults=(),
    )  # fmt: skip


def test_the_parts_of_a_step_add_up_to_the_whole():
    assert compare_losses(seen(((2.0,), (1.0,))), seen(((0.5, 1.5), (0.25, 0.75)))).passed is True


def test_a_part_without_its_weight_is_seen():
    gate = compare_losses(seen(((2.0,),)), seen(((2.0, 2.0),)))
    assert gate.passed is False
    assert gate.measured == pytest.approx(1.0)


def test_other_samples_or_no_numbers_are_not_compared():
    assert compare_losses(seen(((2.0,),)), seen(((2.0,),), rows=("b", "a"))).passed is None
    assert compare_losses(None, seen(((2.0,),))).passed is None
    assert compare_losses(seen(((None,),)), seen(((2.0,),))).passed is None
