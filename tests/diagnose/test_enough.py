"""The least amount of evidence: of a run of milliseconds only facts are said, without what they cost."""

import msgspec
import pytest

from pitstop.diagnose.enough import LEAST_STEPS, LEAST_WALL_NS, is_enough
from pitstop.diagnose.findings import find_faults
from pitstop.diagnose.rules import RULES
from pitstop.records import CATEGORIES, EnvironmentSighting, Evidence, Ledger, OptimizerSighting, Site, TreeUsage

SLOW_OPTIMIZER = OptimizerSighting(
    id=1,
    stack=(Site(path="/home/me/train.py", line=20),),
    optimizer_class="torch.optim.adamw.AdamW",
    num_tensors=10,
    num_elements=1000,
    fused=None,
    foreach=None,
)
ENVIRONMENT = EnvironmentSighting(
    pid=1,
    python="3.11.7",
    executable="/usr/bin/python",
    argv=("train.py",),
    script="/home/me/train.py",
    main_guard=True,
    torch="2.13.0",
    cuda=False,
    device_names=(),
    intra_op_threads=2,
    inter_op_threads=2,
    affinity_cpus=2,
    cpu_capability="AVX512",
    start_method=None,
    anomaly_detection=True,
)
EVIDENCE = Evidence(project_root="/home/me", environment=ENVIRONMENT, optimizers=(SLOW_OPTIMIZER,))


def ledger(*, wall_ns: int, steps: int) -> Ledger:
    """Half of it in the optimizer, half in the backward."""
    spent = {str(name): 0 for name in CATEGORIES}
    return Ledger(
        wall_ns=wall_ns, steps=steps, categories_ns={**spent, "optimizer": wall_ns // 2, "backward": wall_ns // 2}
    )


def found(**size: int):
    return {one.fault: one for one in find_faults(EVIDENCE, ledger(**size), frozenset(), TreeUsage())}


def test_a_long_run_has_both():
    assert set(found(wall_ns=LEAST_WALL_NS, steps=LEAST_STEPS)) == {"optimizer-unfused", "anomaly-detection"}


@pytest.mark.parametrize("size", [{"wall_ns": 12 * 700_000, "steps": 12}, {"wall_ns": 10**10, "steps": 4}])
def test_of_a_short_run_only_facts_are_said_and_nothing_is_promised(size):
    (fact,) = found(**size).values()
    assert fact.fault == "anomaly-detection"
    assert (fact.share, fact.ceiling_speedup, fact.rule_of_thumb) == (0.0, 1.0, "")
    assert f"in {size['steps']} steady steps" in fact.evidence[-1]


@pytest.mark.parametrize("size", [{"wall_ns": 10**6, "steps": 100}, {"wall_ns": 10**10, "steps": 1}])
def test_neither_many_steps_nor_a_long_time_alone_are_enough(size):
    assert not is_enough(ledger(**size))


def test_a_fact_stands_by_itself_in_both_languages():
    facts = [rule.fact for rule in RULES if rule.fact is not None]
    assert facts
    for fact in facts:
        assert fact.say()
        assert "{" not in fact.en + fact.zh


def test_the_end_of_a_short_run_is_no_finding():
    nothing = msgspec.structs.replace(EVIDENCE, environment=None)
    assert find_faults(nothing, ledger(wall_ns=10**6, steps=3), frozenset(), TreeUsage()) == ()
