"""Each rule: found where its evidence is, with where in the source and what it could gain, and not in a healthy program."""

import msgspec
import pytest

from pitstop.diagnose.findings import find_faults
from pitstop.diagnose.rules import RULES
from pitstop.records import CATEGORIES, Evidence, Ledger, Site
from pitstop.records.evidence import (
    BackwardSighting,
    CallSighting,
    DenormalSighting,
    EnvironmentSighting,
    ForwardSighting,
    GraphBreak,
    KeptGraphs,
    LoaderSighting,
    OptimizerSighting,
    Recompile,
)
from pitstop.records.run import MemorySample, TreeUsage

S = 1_000_000_000


def ledger(*, wall_s: int = 100, **shares: float) -> Ledger:
    """A ledger with these shares, the rest forward."""
    rest = 1.0 - sum(shares.values())
    given = {name: round(wall_s * S * shares.get(name, 0.0)) for name in CATEGORIES}
    given["forward"] += round(wall_s * S * rest)
    return Ledger(wall_ns=wall_s * S, steps=1000, categories_ns={str(name): time_ns for name, time_ns in given.items()})


def at(line: int) -> tuple[Site, ...]:
    return (Site(path="/home/me/train.py", line=line),)


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
)
LOADER = LoaderSighting(
    id=1,
    stack=at(10),
    num_workers=2,
    batch_size=8,
    prefetch_factor=2,
    persistent_workers=True,
    pin_memory=False,
    multiprocessing_context=None,
    dataset_class="__main__.Photos",
    dataset_len=280,
    iterable=False,
    sampler_class=None,
)
OPTIMIZER = OptimizerSighting(
    id=1,
    stack=at(20),
    optimizer_class="torch.optim.adamw.AdamW",
    num_tensors=10,
    num_elements=1000,
    fused=True,
    foreach=None,
    devices=("cpu",),
)
FORWARD = ForwardSighting(
    id=1,
    stack=at(30),
    module_class="__main__.Net",
    training=True,
    grad_enabled=True,
    forward_in_torch=False,
    num_parameters=1000,
    parameter_dtypes=("torch.float32",),
    device="cpu",
    num_conv=3,
    num_batchnorm=0,
    num_dropout=0,
    num_rnn=0,
    sparse_embedding=False,
    input_shapes=((8, 3, 96, 96),),
    channels_last=True,
    compiled=False,
    autocast=None,
    traced=False,
)
BACKWARD = BackwardSighting(id=1, stack=at(32), create_graph=False, retain_graph=False, operations=100, parameters=10)
HEALTHY = Evidence(
    project_root="/home/me",
    environment=ENVIRONMENT,
    loaders=(LOADER,),
    optimizers=(OPTIMIZER,),
    forwards=(FORWARD,),
    backwards=(BACKWARD,),
)
USUAL = ledger(data_wait=0.03, backward=0.4, optimizer=0.06, evaluation=0.1, checkpoint=0.01, gc=0.01, python=0.02)


def usage(*, throttled_s: float = 0.0) -> TreeUsage:
    samples = tuple(
        MemorySample(time_ns=time_ns, rss_bytes=1, cpu_ns=0, processes=1, foreign_cpu_ns=0) for time_ns in (0, 100 * S)
    )
    return TreeUsage(samples=samples, cpus=2, throttled_ns=round(throttled_s * S))


def faults(evidence: Evidence, shares: Ledger = USUAL, *, throttled_s: float = 0.0):
    return find_faults(evidence, shares, frozenset({1}), usage(throttled_s=throttled_s))


def with_environment(**fields) -> Evidence:
    return msgspec.structs.replace(HEALTHY, environment=msgspec.structs.replace(ENVIRONMENT, **fields))


def with_loader(**fields) -> Evidence:
    return msgspec.structs.replace(HEALTHY, loaders=(msgspec.structs.replace(LOADER, **fields),))


def with_optimizer(**fields) -> Evidence:
    return msgspec.structs.replace(HEALTHY, optimizers=(msgspec.structs.replace(OPTIMIZER, **fields),))


def with_forward(**fields) -> Evidence:
    return msgspec.structs.replace(HEALTHY, forwards=(msgspec.structs.replace(FORWARD, **fields),))


def calling(function: str, *, share: float, per_step: float = 1.0, line: int = 50) -> Evidence:
    """The healthy program, which also makes these calls; a step of `USUAL` takes 0.1 s."""
    call = CallSighting(
        id=1,
        function=function,
        stack=at(line),
        calls=round(1000 * per_step),
        total_ns=round(share * 100 * S),
        steps=1000,
    )
    return msgspec.structs.replace(HEALTHY, calls=(call,))


def keeping(*tensors: int, chains: tuple[int, ...] = (2, 2, 2)) -> Evidence:
    """Counts after 48, 96 and 192 steps."""
    counted = zip((48, 96, 192), tensors, chains, strict=False)
    return seen(kept_graphs=tuple(KeptGraphs(step=step, tensors=many, chain=chain) for step, many, chain in counted))


LARGE = 10_000_000  # parameters


def seen(**kinds) -> Evidence:
    """The healthy program with other sightings of some kinds."""
    return msgspec.structs.replace(HEALTHY, **kinds)


def looping(operations: int, parameters: int, **forward) -> Evidence:
    backward = msgspec.structs.replace(BACKWARD, operations=operations, parameters=parameters)
    return seen(backwards=(backward,), forwards=(msgspec.structs.replace(FORWARD, **forward),))


def tiny(of: str, denormal: int) -> Evidence:
    return seen(denormals=(DenormalSighting(of=of, step=1024, numbers=1000, denormal=denormal),))


def on_gpu(*, deterministic: bool) -> Evidence:
    return with_environment(deterministic=deterministic, cuda=True, device_names=("NVIDIA H200",))


def in_float32(*flags: str, **forward) -> Evidence:
    fields = {"num_parameters": LARGE, **forward}
    return msgspec.structs.replace(
        with_environment(cpu_flags=flags), forwards=(msgspec.structs.replace(FORWARD, **fields),)
    )


def broken(line: int, path: str = "/home/me/net.py") -> Evidence:
    place = (Site(path=path, line=line),)
    return seen(graph_breaks=(GraphBreak(id=1, stack=place, reason="call of print", count=2),))


def compiled_again(count: int) -> Evidence:
    return seen(recompiles=(Recompile(id=1, stack=at(60), reason="k == 0.3", count=count),))


TENSORS = "torch.utils.data.dataset.TensorDataset"
CASES = (
    ("loader-in-main-process", with_loader(num_workers=0), ledger(data_wait=0.5), 0.0, 2.0, "train.py:10"),
    ("workers-restarted", with_loader(persistent_workers=False), ledger(data_wait=0.2), 0.0, 1.25, "train.py:10"),
    (
        "in-memory-tensors",
        with_loader(num_workers=0, dataset_class=TENSORS),
        ledger(data_wait=0.5),
        0.0,
        2.0,
        "train.py:10",
    ),
    ("threads-over-cpus", with_environment(intra_op_threads=64), ledger(data_wait=0.2), 0.0, 5.0, "64 threads"),
    ("quota-throttled", HEALTHY, USUAL, 50.0, 2.0, "50.0 s of 100.0 s"),
    ("anomaly-detection", with_environment(anomaly_detection=True), ledger(python=0.5), 0.0, 2.0, "is_anomaly_enabled"),
    (
        "float64-parameters",
        with_forward(parameter_dtypes=("torch.float64",)),
        ledger(python=0.2),
        0.0,
        1 / 0.6,
        "train.py:30",
    ),
    ("evaluation-share", HEALTHY, ledger(evaluation=0.5), 0.0, 2.0, "50"),
    ("checkpoint-share", HEALTHY, ledger(checkpoint=0.2), 0.0, 1.25, "20"),
    ("garbage-collection", HEALTHY, ledger(gc=0.2), 0.0, 1.25, "gc.callbacks"),
    ("optimizer-unfused", with_optimizer(fused=None), ledger(optimizer=0.5), 0.0, 2.0, "AdamW of 10 tensors"),
    ("collections-each-step", calling("gc.collect", share=0.2), ledger(gc=0.21), 0.0, 1.25, "train.py:50"),
    ("caches-emptied-each-step", calling("torch.cuda.empty_cache", share=0.2), USUAL, 0.0, 1.25, "train.py:50"),
    ("synchronized-each-step", calling("torch.cuda.synchronize", share=0.2), USUAL, 0.0, 1.25, "train.py:50"),
    (
        "logging-each-step",
        calling("SummaryWriter.add_scalar", share=0.2, per_step=40),
        ledger(logging=0.2),
        0.0,
        1.25,
        "SummaryWriter.add_scalar is called 40 times per step at /home/me/train.py:50",
    ),
    (
        "python-loop-in-model",
        looping(2000, 10),
        ledger(backward=0.4, python=0.2),
        0.0,
        5.0,
        "2000 operations on 10 parameter tensors",
    ),
    ("deterministic-algorithms", on_gpu(deterministic=True), ledger(python=0.5), 0.0, 2.0, "NVIDIA H200"),
    ("graph-breaks", broken(7), ledger(python=0.5), 0.0, 2.0, "/home/me/net.py:7"),
    ("recompiles", compiled_again(3), ledger(compile=0.2), 0.0, 1.25, "k == 0.3"),
    ("denormal-numbers", tiny("gradients", 500), ledger(python=0.2), 0.0, 5.0, "50.0% of 1000 numbers"),
    (
        "float32-on-bf16-processor",
        in_float32("avx512_bf16"),
        ledger(python=0.2),
        0.0,
        1 / 0.6,
        "train.py:30",
    ),
    (
        "images-channels-first",
        with_forward(num_parameters=LARGE, channels_last=False),
        ledger(python=0.2),
        0.0,
        1 / 0.6,
        "train.py:30",
    ),
    ("graphs-kept", keeping(50, 98, 194), USUAL, 0.0, 1.0, "50 after 48 steps, 194 after 192, 1 more per step"),
    ("tracer-attached", with_environment(tracer="bdb.Bdb"), USUAL, 0.0, float("inf"), "bdb.Bdb"),
)


# Each has its tests in test_loading_rules.py.
ABOUT_LOADING = (
    "decode-dominates",
    "transforms-dominate",
    "tokenized-each-epoch",
    "padding-waste",
    "loading-blocked",
    "threads-in-workers",
)


def test_a_healthy_program_gets_none():
    assert faults(HEALTHY) == ()


def test_every_rule_has_a_case():
    of_ranks = {"rank-straggler", "reduced-each-micro-step", "unused-parameters-searched"}  # test_rules_ranks.py
    others = {  # test_rules_more.py
        "out-of-memory",
        "too-many-workers",
        "shared-memory-low",
        "dataset-rows-one-by-one",
        "pageable-copies",
        "tensor-cores-unused",
        "algorithms-not-searched",
    }
    assert of_ranks | others | {"blocking-reads", *ABOUT_LOADING, *(case[0] for case in CASES)} == {
        rule.fault for rule in RULES
    }


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_a_fault_is_found_with_its_ceiling_and_where_it_shows(case):
    fault, evidence, shares, throttled_s, ceiling, words = case
    found = faults(evidence, shares, throttled_s=throttled_s)
    assert [one.fault for one in found] == [fault], "and nothing else is blamed for it"
    assert found[0].ceiling_speedup == pytest.approx(ceiling)
    assert words in f"{found[0].title} {found[0].evidence[0]} {found[0].next_action}"
    assert found[0].next_action


@pytest.mark.parametrize(
    ("evidence", "shares"),
    [
        (with_loader(num_workers=0), USUAL),
        (with_loader(persistent_workers=False), USUAL),
        (with_loader(num_workers=0, dataset_class=TENSORS), USUAL),
        (with_environment(intra_op_threads=1), USUAL),
        (with_environment(intra_op_threads=64, cuda=True), USUAL),
        (with_forward(parameter_dtypes=("torch.float64",), training=False), USUAL),
        (with_optimizer(fused=None), USUAL),
        (looping(1500, 100), USUAL),  # a deep model: each parameter is used a few times
        (looping(180, 2), USUAL),
        (looping(2000, 10, num_parameters=LARGE), USUAL),  # a large matrix product in each round
        (looping(2000, 10), ledger(wall_s=2000, backward=0.4)),  # shared weights, but each operation computes for long
        (looping(2000, 10), ledger(data_wait=0.75)),
        (on_gpu(deterministic=False), USUAL),
        (with_environment(deterministic=True), USUAL),  # on a CPU it costs next to nothing
        (broken(7, path="/venv/lib/python3.11/site-packages/transformers/cache.py"), USUAL),
        (broken(7), ledger(data_wait=0.75)),
        (compiled_again(1), USUAL),
        (compiled_again(7), USUAL),
        (tiny("gradients", 5), USUAL),
        (tiny("optimizer state", 500), ledger(optimizer=0.03)),
        (msgspec.structs.replace(tiny("gradients", 500), environment=None), USUAL),
        (in_float32(), USUAL),
        (in_float32("avx512_vnni"), USUAL),
        (in_float32("avx512_bf16", autocast="bfloat16"), USUAL),
        (in_float32("avx512_bf16", num_parameters=500), USUAL),
        (in_float32("avx512_bf16", device="cuda:0"), USUAL),
        (in_float32("avx512_bf16"), ledger(wall_s=10)),  # small operations: calling them is what takes time
        (with_forward(num_parameters=LARGE, channels_last=False), ledger(wall_s=10)),
        (with_forward(channels_last=False), USUAL),  # little to compute, however long it takes on a busy machine
        (with_forward(num_parameters=LARGE, channels_last=False, num_conv=0), USUAL),
        (with_forward(num_parameters=LARGE, channels_last=False, compiled=True), USUAL),
        (with_forward(num_parameters=LARGE, channels_last=False, input_shapes=((8, 1, 28, 28),)), USUAL),
        (with_forward(num_parameters=LARGE, channels_last=False, training=False), USUAL),
        (keeping(5, 5, 5), USUAL),
        (keeping(50, 98), USUAL),  # a run that ended before the third count
        (keeping(200, 20, 180), USUAL),  # filled and emptied
        (keeping(20, 100, 200), USUAL),  # an episode that becomes longer with training, not a step
        (keeping(48, 60, 84), USUAL),  # one per epoch of four steps
        (calling("gc.collect", share=0.005), USUAL),
        (calling("gc.collect", share=0.2, per_step=0.01), USUAL),
        (calling("torch.cuda.empty_cache", share=0.001), USUAL),
        (calling("torch.cuda.synchronize", share=0.01), USUAL),
        (calling("torch.cuda.synchronize", share=0.2, per_step=0.01), USUAL),
        (calling("SummaryWriter.add_scalar", share=0.01), ledger(logging=0.02)),
        (with_optimizer(fused=None, optimizer_class="mine.Lion"), ledger(optimizer=0.5)),
    ],
)
def test_what_costs_nothing_or_cannot_be_helped_is_no_fault(evidence, shares):
    assert faults(evidence, shares) == ()


def test_a_short_throttling_is_none():
    assert faults(HEALTHY, throttled_s=2.0) == ()


def test_one_full_collection_in_a_short_run_is_no_habit():
    assert faults(HEALTHY, ledger(wall_s=4, gc=0.2)) == ()


READS = (("python/sync|/home/me/train.py:70 main", 80), ("python|/home/me/train.py:71 main", 90))


def reading(evidence: Evidence, *, sync: float, samples=READS):
    return find_faults(evidence, ledger(sync=sync), frozenset({1}), usage(), stack_samples=samples)


def test_reads_from_a_device_are_found_with_their_line():
    (found,) = reading(with_environment(cuda=True), sync=0.2)
    assert (found.fault, found.confidence) == ("blocking-reads", "low")
    assert found.ceiling_speedup == pytest.approx(1.25)
    assert "/home/me/train.py:70" in found.evidence[0]


def test_reads_that_cost_nothing_are_none():
    assert reading(HEALTHY, sync=0.2) == ()  # on a CPU there is nothing to wait for
    assert reading(with_environment(cuda=True), sync=0.02) == ()
    assert reading(with_environment(cuda=True), sync=0.2, samples=()) == ()
    waits = calling("torch.cuda.synchronize", share=0.2)
    waits = msgspec.structs.replace(waits, environment=with_environment(cuda=True).environment)
    assert [one.fault for one in reading(waits, sync=0.21)] == ["synchronized-each-step"]


def test_a_sum_that_grows_with_its_graph_is_found():
    (found,) = faults(keeping(4, 4, 4, chains=(48, 96, 192)))
    assert found.fault == "graphs-kept"
    assert "sums chained" in found.evidence[0]


def test_denormals_that_are_flushed_are_none():
    flushed = msgspec.structs.replace(
        tiny("gradients", 500), environment=msgspec.structs.replace(ENVIRONMENT, flushes_denormals=True)
    )
    assert faults(flushed, ledger(python=0.2)) == ()


def test_denormals_in_the_optimizers_state_slow_down_the_optimizer_only():
    (found,) = faults(tiny("optimizer state", 500), ledger(optimizer=0.2))
    assert found.ceiling_speedup == pytest.approx(1.25)
    assert found.treatments == ("flush-denormal",)


def test_a_function_that_is_compiled_to_the_limit_runs_uncompiled_from_then_on():
    (found,) = faults(compiled_again(9), ledger(python=0.5))
    assert (found.fault, found.confidence) == ("recompiles", "low")
    assert found.ceiling_speedup == pytest.approx(2.0)


def test_several_micro_steps_have_as_many_times_the_operations():
    many = find_faults(looping(2000, 10), ledger(wall_s=2000), frozenset({1}), usage(), micro_steps=16)
    assert [one.fault for one in many] == ["python-loop-in-model"]
    assert find_faults(looping(2000, 10), ledger(wall_s=2000), frozenset({1}), usage(), micro_steps=1) == ()


def test_a_loop_is_blamed_on_the_hottest_line_of_the_forward():
    samples = (
        ("forward|/home/me/net.py:12 Net.forward > modules/rnn.py forward", 80),
        ("backward|/home/me/a.py:1 f", 90),
    )
    found = find_faults(looping(2000, 10), ledger(backward=0.4), frozenset({1}), usage(), stack_samples=samples)
    assert "/home/me/net.py:12" in found[0].next_action


def test_logging_that_only_samples_show_is_blamed_on_their_hottest_line():
    samples = (
        ("python/logging|/home/me/train.py:9 main > tqdm/std.py update", 30),
        ("python/logging|/home/me/train.py:7 main", 50),
        ("python|/home/me/train.py:5 main", 500),
    )
    found = find_faults(HEALTHY, ledger(logging=0.2), frozenset({1}), usage(), stack_samples=samples)
    assert [one.fault for one in found] == ["logging-each-step"]
    assert "/home/me/train.py:7" in found[0].evidence[0]
    assert "/home/me/train.py:7" in found[0].next_action


def test_a_collection_that_the_program_forces_is_not_blamed_on_python():
    forced = calling("gc.collect", share=0.2)
    assert [one.fault for one in faults(forced, ledger(gc=0.25))] == ["collections-each-step", "garbage-collection"]
    assert [one.fault for one in faults(forced, ledger(gc=0.21))] == ["collections-each-step"]


def test_the_largest_ceiling_comes_first():
    evidence = msgspec.structs.replace(with_loader(num_workers=0), optimizers=with_optimizer(fused=None).optimizers)
    found = faults(evidence, ledger(data_wait=0.2, optimizer=0.4))
    assert [one.fault for one in found] == ["optimizer-unfused", "loader-in-main-process"]
