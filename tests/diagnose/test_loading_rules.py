"""Rules about what loading is made of: found where most of it is one thing and the step waits, and not in healthy programs."""

import msgspec
import pytest
from test_rules import HEALTHY, USUAL, faults, ledger, usage, with_forward, with_loader

from pitstop.diagnose.findings import find_faults
from pitstop.records import CensusSighting, LeafCensus, PipelineSighting

WAITING = ledger(data_wait=0.5)
DECODER = "/home/me/photos.py:9 Photos.__getitem__ > PIL/ImageFile.py load"
RESIZE = "/home/me/photos.py:11 Photos.__getitem__ > PIL/Image.py resize"
TOKENIZER = "/home/me/text.py:5 Text.__getitem__ > transformers/tokenization_utils_fast.py _batch_encode_plus"
OWN = "/home/me/photos.py:15 Photos.label"


def sampled(*counts: tuple[str, int], evidence=HEALTHY, shares=WAITING, category="worker"):
    samples = tuple((f"{category}|{where}", count) for where, count in counts)
    return find_faults(evidence, shares, frozenset({1}), usage(), stack_samples=samples)


@pytest.mark.parametrize(
    ("where", "fault"),
    [(DECODER, "decode-dominates"), (RESIZE, "transforms-dominate"), (TOKENIZER, "tokenized-each-epoch")],
)
def test_what_takes_most_of_loading_is_found_with_its_line_and_ceiling(where, fault):
    found = [one for one in sampled((where, 60), (OWN, 20)) if one.fault == fault]
    assert len(found) == 1
    assert found[0].ceiling_speedup == pytest.approx(1 / (1 - 0.5 * 0.75))
    assert where in found[0].evidence[0]
    assert where.split(" ")[0] in found[0].next_action


def test_in_the_training_process_the_samples_of_its_wait_count():
    evidence = with_loader(num_workers=0)
    found = sampled((DECODER, 60), evidence=evidence, category="data_wait")
    assert {one.fault for one in found} == {"loader-in-main-process", "decode-dominates"}
    assert "decode-dominates" not in {one.fault for one in sampled((DECODER, 60), evidence=evidence)}


@pytest.mark.parametrize(
    ("counts", "shares"),
    [
        (((DECODER, 60), (OWN, 20)), USUAL),  # workers hide it
        (((DECODER, 40),), WAITING),  # too few samples
        (((DECODER, 45), (RESIZE, 30), (OWN, 30)), WAITING),  # nothing is more than half
        (((OWN, 200),), WAITING),
        ((("? > python3.11/selectors.py select", 500), (DECODER, 30)), WAITING),
    ],
)
def test_loading_that_is_hidden_or_of_many_parts_is_no_fault(counts, shares):
    assert sampled(*counts, shares=shares) == ()


def with_census(padded: int, *, batches: int = 16, evidence=HEALTHY, loader: int = 1):
    tokens = LeafCensus(path="['ids']", dtypes=("torch.int64",), shapes=((8, 10),), places=1000, padded=padded)
    labels = LeafCensus(path="['y']", dtypes=("torch.int64",), shapes=((8,),))
    seen = CensusSighting(loader=loader, batches=batches, leaves=(tokens, labels))
    return msgspec.structs.replace(evidence, census=(seen,))


def test_padding_is_found_and_costs_its_part_of_the_model():
    (found,) = faults(with_census(400), ledger(data_wait=0.03, backward=0.4, python=0.2))
    assert found.fault == "padding-waste"
    assert found.ceiling_speedup == pytest.approx(1 / (1 - 0.4 * 0.77))
    assert "40% of 1000 places of batch['ids'] in 16 batches" in found.evidence[0]
    assert "/home/me/train.py:10" in found.next_action


@pytest.mark.parametrize(
    ("evidence", "shares"),
    [
        (with_census(250), USUAL),
        (with_census(400, batches=3), USUAL),
        (with_census(400, loader=2), USUAL),  # of an evaluation loader
        (with_census(400), ledger(data_wait=0.02, optimizer=0.03, python=0.8)),
        (with_census(400, evidence=with_forward(num_rnn=1)), USUAL),
    ],
)
def test_little_padding_or_a_model_that_may_leave_it_out_is_no_fault(evidence, shares):
    assert "padding-waste" not in {one.fault for one in faults(evidence, shares)}


def with_pipeline(*, wall=1000, cpu=100, thread=90, queued=10, batches=16, **fields):
    seen = PipelineSighting(
        loader=1,
        processes=2,
        batches=batches,
        samples=8 * batches,
        wall_ns=wall,
        cpu_ns=cpu,
        thread_cpu_ns=thread,
        queued_ns=queued,
        **fields,
    )
    return msgspec.structs.replace(HEALTHY, pipelines=(seen,))


def test_loading_that_sleeps_is_found():
    (found,) = faults(with_pipeline(), WAITING)
    assert found.fault == "loading-blocked"
    assert found.ceiling_speedup == pytest.approx(1 / (1 - 0.5 * 0.9))
    assert "for 90% of the time" in found.evidence[0]


def test_workers_that_crowd_the_processors_are_found():
    (found,) = faults(with_pipeline(cpu=900, thread=300, queued=600, handovers=2, handover_ns=10), WAITING)
    assert found.fault == "threads-in-workers"
    assert found.ceiling_speedup == pytest.approx(1 / (1 - 0.5 * 0.6))
    assert "use 1.7 times the processor time" in found.evidence[0]


@pytest.mark.parametrize(
    ("evidence", "shares"),
    [
        (with_pipeline(), USUAL),
        (with_pipeline(queued=0), WAITING),  # a kernel that does not say how long a thread waited for a processor
        (with_pipeline(batches=7), WAITING),
        (with_pipeline(cpu=900), WAITING),  # its own threads load
        (with_pipeline(cpu=950, thread=940, queued=20), WAITING),
        (with_pipeline(cpu=400, thread=390, queued=500), WAITING),  # the machine is busy with something else
        (with_pipeline(cpu=900, thread=700, queued=100), WAITING),
        (with_pipeline(cpu=600, thread=300, queued=600, handovers=8, handover_ns=100), WAITING),  # it hands over
    ],
)
def test_loading_that_works_is_no_fault(evidence, shares):
    assert faults(evidence, shares) == ()
