"""Rules about processes that train together."""

import msgspec
import pytest

from pitstop.diagnose.findings import find_faults
from pitstop.records import CATEGORIES, DataParallelSighting, Evidence, Ledger, Site, TreeUsage
from pitstop.records.results import RankResult

S = 1_000_000_000
MODEL = DataParallelSighting(
    id=1,
    stack=(Site(path="/home/me/train.py", line=12),),
    module_class="__main__.Net",
    device="cpu",
    find_unused_parameters=False,
    static_graph=False,
    gradient_as_bucket_view=False,
    bucket_cap_bytes=26214400,
    parameter_bytes=4000,
    buckets=1,
    backwards=100,
    reduced=25,
)


def faults(*, model=MODEL, communication=0.4, micro_steps=4, waits=()):
    times = dict.fromkeys(CATEGORIES, 0) | {"communication": round(communication * S)}
    times["forward"] = S - times["communication"]
    ranks = tuple(RankResult(rank=n, step_ns=10_000_000, communication_ns=wait) for n, wait in enumerate(waits))
    return find_faults(
        Evidence(project_root="/home/me", data_parallel=(model,) if model else ()),
        Ledger(wall_ns=S, steps=100, categories_ns=times),
        frozenset(),
        TreeUsage(),
        micro_steps=micro_steps,
        ranks=ranks,
    )


def with_model(**fields):
    return msgspec.structs.replace(MODEL, **fields)


@pytest.mark.parametrize(
    ("reduced", "micro_steps", "communication", "found"),
    [(100, 4, 0.4, True), (25, 4, 0.4, False), (100, 1, 0.4, False), (100, 4, 0.05, False)],
    ids=["each", "no_sync", "no accumulation", "cheap"],
)
def test_a_reduction_after_each_micro_step(reduced, micro_steps, communication, found):
    all_of_them = faults(model=with_model(reduced=reduced), micro_steps=micro_steps, communication=communication)
    assert [one.fault for one in all_of_them] == (["reduced-each-micro-step"] if found else [])
    if found:
        assert all_of_them[0].ceiling_speedup == pytest.approx(1 / (1 - 0.4 * 3 / 4))
        assert "100 of 100" in all_of_them[0].evidence[0]
        assert "/home/me/train.py:12" in all_of_them[0].evidence[0]


def test_several_wrapped_models_share_the_backwards_and_are_not_judged():
    evidence = Evidence(project_root="/", data_parallel=(with_model(reduced=100), with_model(id=2, reduced=100)))
    times = dict.fromkeys(CATEGORIES, 0) | {"communication": S}
    ledger = Ledger(wall_ns=S, steps=10, categories_ns=times)
    assert find_faults(evidence, ledger, frozenset(), TreeUsage(), micro_steps=4) == ()


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"find_unused_parameters": True, "unused_bytes": 0}, True),
        ({"find_unused_parameters": True, "unused_bytes": 400}, False),
        ({"find_unused_parameters": True, "unused_bytes": None}, False),
        ({"find_unused_parameters": True, "unused_bytes": 0, "backwards": 9, "reduced": 2}, False),
        ({"find_unused_parameters": False}, False),
    ],
)
def test_a_search_for_unused_parameters_that_never_finds_any(fields, found):
    seen = [one.fault for one in faults(model=with_model(**fields))]
    assert seen == (["unused-parameters-searched"] if found else [])


@pytest.mark.parametrize(
    ("waits", "share"),
    [((5_000_000, 1_000_000), 0.2), ((2_000_000, 1_000_000), None), ((9_000_000, 9_000_000), None), ((), None)],
)
def test_a_straggler_is_the_rank_that_waits_least(waits, share):
    found = faults(model=None, waits=waits)
    assert [one.share for one in found] == ([pytest.approx(share)] if share else [])
    if share:
        assert "rank 1 waits least" in found[0].evidence[0]
