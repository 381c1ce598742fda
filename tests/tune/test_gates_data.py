"""Gates over what the program was fed."""

import numpy as np
import pytest
from gates_samples import batch_moments, changed, loader, run

from pitstop.tune.gates_data import STATISTICS_ALPHA, batches_equal, sample_multiset, sample_values, statistics

SHUFFLED = np.random.default_rng(0).permutation(64).tolist()
OTHER = np.random.default_rng(1).permutation(64).tolist()


def fed(*loaders):
    return run(loaders=loaders)


def multiset(ours, theirs=None):
    return sample_multiset([fed(ours)], baseline=[fed(theirs or loader(ids=SHUFFLED)), fed(loader(ids=OTHER))])


def test_the_same_samples_in_another_order_pass():
    assert multiset(loader(ids=OTHER)).passed


@pytest.mark.parametrize(
    "ours",
    [
        pytest.param(loader(ids=[*SHUFFLED[:-1], SHUFFLED[0]]), id="one sample twice, one lost"),
        pytest.param(loader(ids=SHUFFLED[:56]), id="the last batch dropped"),
        pytest.param(loader(ids=SHUFFLED, plan_samples=56, plan_ids="less"), id="fewer planned"),
        pytest.param(loader(ids=SHUFFLED, plan_ids="others"), id="others planned"),
        pytest.param(loader(ids=SHUFFLED, plan_batches=16), id="smaller batches"),
        pytest.param(loader(ids=range(64)), id="not shuffled"),
    ],
)
def test_other_samples_fail(ours):
    assert multiset(ours).passed is False


def test_a_part_of_an_epoch_is_not_taken_for_the_whole():
    assert multiset(loader(ids=SHUFFLED[:32], complete=False)).passed


def test_a_sampler_with_replacement_may_repeat_as_often_as_the_original_does():
    drawn = [np.random.default_rng(seed).integers(0, 64, 64).tolist() for seed in range(3)]
    runs = [fed(loader(ids=ids, plan_ids=f"plan {n}")) for n, ids in enumerate(drawn)]
    assert sample_multiset([runs[2]], baseline=runs[:2]).passed
    every_one_twice = fed(loader(ids=[one for one in range(8) for _ in range(8)], plan_ids="plan 9"))
    assert sample_multiset([every_one_twice], baseline=runs[:2]).passed is False


def test_a_stream_without_ids_is_known_by_its_content():
    def stream(contents):
        seen = loader(ids=(), plan_ids=None, plan_samples=None, plan_batches=None, rows=tuple(contents))
        epoch = changed(seen.epochs[0], samples=len(contents), complete=False)
        return fed(changed(seen, epochs=(epoch,), with_grad=1))

    original = [stream([f"v{n}" for n in range(64)])] * 2
    assert sample_multiset([stream([f"v{n}" for n in range(63, -1, -1)])], baseline=original).passed
    assert sample_multiset([stream([f"v{n // 2}" for n in range(64)])], baseline=original).passed is False


def test_a_changed_value_fails_and_a_random_transform_is_left_to_the_statistics():
    shifted = loader(rows=tuple("x" if n == 7 else f"v{n}" for n in range(64)))
    gate = sample_values([fed(shifted)], baseline=[fed(loader())])
    assert gate.passed is False
    assert gate.measured == pytest.approx(1 / 64)
    random_leaf = loader(deterministic=(False,))
    assert sample_values([fed(shifted)], baseline=[fed(random_leaf)]).passed is None


def test_statistics_turn_equal_distributions_away_no_more_often_than_stated():
    wrong = 0
    for seed in range(2000):
        ours, theirs = batch_moments(seed=2 * seed), batch_moments(seed=2 * seed + 1)
        gate = statistics([fed(loader(moments=(ours,)))], baseline=[fed(loader(moments=(theirs,)))])
        wrong += gate.passed is False
    assert wrong <= 10  # 2,000 x 0.001 = 2 expected; 40 batches are nearly, not quite, normal
    assert STATISTICS_ALPHA == 1e-3


def test_a_shifted_mean_fails():
    gate = statistics([fed(loader(moments=(batch_moments(mean=0.15, seed=3),)))], baseline=[fed(loader())])
    assert gate.passed is False
    assert type(gate.measured) is float  # not numpy's, which no JSON encoder of ours takes


def test_few_batches_say_nothing_and_a_constant_column_is_no_division_by_zero():
    few = fed(loader(moments=(batch_moments(n=4),)))
    assert statistics([few], baseline=[few]).passed is None
    constant = fed(loader(moments=(batch_moments(mean=2.0, spread=0.0),)))
    assert statistics([constant], baseline=[constant]).passed
    moved = fed(loader(moments=(batch_moments(mean=2.1, spread=0.0),)))
    assert statistics([moved], baseline=[constant]).passed is False


def test_batches_are_compared_bit_for_bit():
    assert batches_equal(run(), original=run()).passed
    other = changed(loader(), batches=("b0", "x", *(f"b{n}" for n in range(2, 8))))
    gate = batches_equal(fed(other), original=run())
    assert (gate.passed, gate.measured) == (False, 1)


def test_no_loader_is_a_reason_and_a_lost_loader_a_failure():
    nothing = run(loaders=())
    assert batches_equal(nothing, original=nothing).passed is None
    assert batches_equal(nothing, original=run()).passed is False
    crashed = changed(nothing, complete=False, crash="KeyError: 1")
    gate = batches_equal(crashed, original=run())
    assert gate.passed is None
    assert "KeyError: 1" in gate.detail
