"""Out of memory, workers beyond the processors, shared memory, rows one by one, and what only a GPU can have (recorded values)."""

import msgspec
import pytest
from test_rules import ENVIRONMENT, FORWARD, HEALTHY, LARGE, USUAL, faults, ledger, usage, with_environment, with_loader

from pitstop.diagnose.findings import find_faults
from pitstop.diagnose.rules.contract import Ending
from pitstop.records import CensusSighting, LeafCensus, Ledger, PipelineSighting, TreeUsage

WAITING = ledger(data_wait=0.5)
MIB = 2**20


def ended(error="", *, shares=USUAL, evidence=HEALTHY, **fields):
    return find_faults(evidence, shares, frozenset({1}), usage(), out_of_memory=Ending(error=error, **fields))


@pytest.mark.parametrize(
    ("error", "fields", "words"),
    [
        (
            "OutOfMemoryError: CUDA out of memory.",
            {"peak_device_bytes": 3 * 2**30, "peak_bytes": 1},
            "3 GiB on the device",
        ),
        ("MemoryError", {"peak_bytes": 2**30}, "1 GiB of host memory"),
        ("", {"by_system": True}, "the kernel or a memory limit ended the process"),
    ],
)
@pytest.mark.parametrize("shares", [USUAL, Ledger.of_nothing(), ledger(python=0.9)])
def test_out_of_memory_is_a_finding_with_a_remedy_even_before_the_first_step(error, fields, words, shares):
    found = ended(error, shares=shares, **fields)
    assert found[0].fault == "out-of-memory"
    assert words in found[0].evidence[0]
    assert found[0].evidence[0].endswith("/home/me/train.py:32")
    assert found[0].next_action.startswith("pitstop fit")
    assert found[0].ceiling_speedup == 1.0
    assert len(found[0].evidence) == 1, "how short the run was does not matter"


def test_what_ended_the_run_comes_before_what_made_it_slow():
    found = ended("MemoryError", shares=ledger(data_wait=0.5), evidence=with_loader(num_workers=0))
    assert [one.fault for one in found] == ["out-of-memory", "loader-in-main-process"]


def test_a_run_without_a_step_that_did_not_run_out_has_no_finding():
    anomaly = with_environment(anomaly_detection=True)
    assert find_faults(anomaly, Ledger.of_nothing(), frozenset(), TreeUsage()) == ()


def crowded(*, workers=8, queued=600, cpu=310, batches=16, wall=1000):
    seen = PipelineSighting(
        loader=1, processes=workers, batches=batches, wall_ns=wall, cpu_ns=cpu, thread_cpu_ns=300, queued_ns=queued
    )
    return msgspec.structs.replace(with_loader(num_workers=workers), pipelines=(seen,))


def test_workers_beyond_the_processors_are_found():
    (found,) = faults(crowded(), WAITING)
    assert found.fault == "too-many-workers"
    assert found.ceiling_speedup == pytest.approx(1 / (1 - 0.5 * 0.6))
    assert "8 workers of the loader at /home/me/train.py:10 on 2 usable processors" in found.evidence[0]


@pytest.mark.parametrize(
    ("evidence", "shares"),
    [
        (crowded(), USUAL),  # nobody waits for them
        (crowded(workers=2), WAITING),
        (crowded(queued=90, wall=500), WAITING),
        (crowded(batches=4), WAITING),
    ],
)
def test_workers_that_find_processors_or_are_not_waited_for_are_no_fault(evidence, shares):
    assert faults(evidence, shares) == ()


def sharing(free_mib, *, total_mib=64, batch_mib=4, batches=4):
    seen = PipelineSighting(loader=1, shared_free_bytes=free_mib and free_mib * MIB, shared_total_bytes=total_mib * MIB)
    census = CensusSighting(loader=1, batches=batches, batch_bytes=batches * batch_mib * MIB)
    return msgspec.structs.replace(HEALTHY, pipelines=(seen,), census=(census,))


def test_shared_memory_with_less_than_a_round_of_batches_left_is_found():
    (found,) = faults(sharing(12))
    assert (found.fault, found.ceiling_speedup) == ("shared-memory-low", 1.0)
    assert "12 of 64 MiB free at the least" in found.evidence[0]
    assert "up to 16 MiB" in found.evidence[0]


@pytest.mark.parametrize("evidence", [sharing(16), sharing(None), sharing(4, batch_mib=1), sharing(1, batches=0)])
def test_shared_memory_with_room_or_not_looked_at_is_no_fault(evidence):
    assert faults(evidence) == ()


FORMAT = "/home/me/text.py:8 Rows.__getitem__ > formatting/formatting.py extract_row"
ARROW = "/home/me/text.py:8 Rows.__getitem__ > pyarrow/table.py slice"
OWN = "/home/me/text.py:9 Rows.__getitem__"


def sampled(*counts, shares=WAITING):
    samples = tuple((f"worker|{where}", count) for where, count in counts)
    return find_faults(HEALTHY, shares, frozenset({1}), usage(), stack_samples=samples)


def test_rows_that_are_taken_one_by_one_are_found_with_their_line():
    (found,) = sampled((FORMAT, 40), (ARROW, 20), (OWN, 20))
    assert found.fault == "dataset-rows-one-by-one"
    assert found.ceiling_speedup == pytest.approx(1 / (1 - 0.5 * 0.75))
    assert "/home/me/text.py:8" in found.next_action


@pytest.mark.parametrize(
    ("counts", "shares"),
    [
        (((FORMAT, 60),), USUAL),
        (((FORMAT, 40),), WAITING),
        (((FORMAT, 40), (OWN, 60)), WAITING),
        ((("/home/me/a.py:1 f > lib/npyio.py load", 90),), WAITING),
    ],
)
def test_reading_that_is_hidden_little_or_of_another_kind_is_no_such_fault(counts, shares):
    assert sampled(*counts, shares=shares) == ()


COPY = (("python/host_to_device|/home/me/train.py:70 main", 80),)


def copying(share=0.2, *, cuda=True, pinned=False, samples=COPY):
    evidence = msgspec.structs.replace(
        with_loader(pin_memory=pinned), environment=msgspec.structs.replace(ENVIRONMENT, cuda=cuda)
    )
    return find_faults(evidence, ledger(host_to_device=share), frozenset({1}), usage(), stack_samples=samples)


def test_copies_from_pageable_memory_are_found_with_both_lines():
    (found,) = copying()
    assert (found.fault, found.treatments) == ("pageable-copies", ("pin-memory", "non-blocking"))
    assert found.ceiling_speedup == pytest.approx(1.25)
    assert "/home/me/train.py:70" in found.evidence[0]
    assert "/home/me/train.py:10" in found.evidence[0]


@pytest.mark.parametrize("how", [{"share": 0.04}, {"cuda": False}, {"pinned": True}, {"samples": ()}])
def test_copies_that_are_cheap_or_pinned_are_no_fault(how):
    assert copying(**how) == ()


def on_gpu(*, capability=(9, 0), tf32=False, precision="highest", **forward):
    fields = {"device": "cuda:0", "num_parameters": LARGE, **forward}
    return msgspec.structs.replace(
        with_environment(
            cuda=True,
            device_names=("NVIDIA H200",),
            device_capabilities=(capability,),
            allow_tf32=tf32,
            matmul_precision=precision,
        ),
        forwards=(msgspec.structs.replace(FORWARD, **fields),),
    )


def test_a_gpu_that_multiplies_in_full_float32_is_found():
    (found,) = faults(on_gpu(), ledger(backward=0.4, python=0.2))
    assert (found.fault, found.confidence) == ("tensor-cores-unused", "low")
    assert found.treatments == ("tf32", "bf16-autocast")
    assert "NVIDIA H200" in found.evidence[0]


@pytest.mark.parametrize(
    "evidence",
    [
        on_gpu(capability=(7, 5)),
        on_gpu(tf32=True),
        on_gpu(precision="high"),
        on_gpu(autocast="bfloat16"),
        on_gpu(num_parameters=500),
        on_gpu(training=False),
        on_gpu(parameter_dtypes=("torch.bfloat16",)),
    ],
)
def test_a_gpu_that_has_nothing_to_gain_by_it_is_no_fault(evidence):
    assert faults(evidence) == ()


def convolving(*, benchmark=False, shapes=((8, 3, 96, 96),), batches=16, forward=None, **environment):
    leaf = LeafCensus(path="[0]", dtypes=("torch.float32",), shapes=shapes)
    fields = {"device": "cuda:0", **(forward or {})}
    return msgspec.structs.replace(
        with_environment(cuda=True, device_names=("NVIDIA H200",), cudnn_benchmark=benchmark, **environment),
        forwards=(msgspec.structs.replace(FORWARD, **fields),),
        census=(CensusSighting(loader=1, batches=batches, leaves=(leaf,)),),
    )


def test_fixed_shapes_without_a_search_for_algorithms_are_found():
    (found,) = faults(convolving())
    assert (found.fault, found.confidence) == ("algorithms-not-searched", "low")
    assert found.treatments == ("cudnn-benchmark",)
    assert "3 convolutions on NVIDIA H200" in found.evidence[0]


@pytest.mark.parametrize(
    "evidence",
    [
        convolving(benchmark=True),
        convolving(benchmark=None),  # this torch does not say
        convolving(shapes=((8, 3, 96, 96), (8, 3, 64, 64))),
        convolving(batches=4),
        convolving(cudnn_deterministic=True),
        convolving(forward={"num_conv": 0}),
        convolving(forward={"device": "cpu"}),
        convolving(forward={"training": False}),
    ],
)
def test_shapes_that_change_or_a_search_that_is_on_are_no_fault(evidence):
    assert faults(evidence) == ()
