"""Training programs of every shape under the probe: events, steps and sightings; output as without."""

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from probed import PROGRAMS, plain_env, run, run_program

from pitstop.records import EventKind

pytestmark = pytest.mark.torch

K = EventKind
SHAPES = (
    "plain",
    "trainer",
    "gan",
    "accumulate",
    "generator",
    "whole",
    "closure",
    "inference",
    "copies",
    "transforms",
    "functional",
)


@pytest.fixture(scope="module")
def probed(tmp_path_factory):
    """Every program run once, two at a time."""
    root = tmp_path_factory.mktemp("programs")
    with ThreadPoolExecutor(2) as pool:
        runs = {name: pool.submit(run_program, f"{name}.py", folder=root / name, sample_hz=100) for name in SHAPES}
        return {name: future.result() for name, future in runs.items()}


def counts(done):
    return Counter(event.kind for event in done.main)


@pytest.mark.parametrize("name", SHAPES)
def test_it_runs_to_its_end_and_the_probe_has_no_fault(probed, name):
    done = probed[name]
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.reading.faults == ()
    assert done.reading.end is not None
    assert done.reading.end.reason == "exit"


@pytest.mark.parametrize(
    ("name", "steps", "expected"),
    [
        (
            "plain",
            8,
            {
                K.FETCH: 16,
                K.FORWARD: 24,
                K.BACKWARD: 8,
                K.OPTIMIZER: 8,
                K.ZERO_GRAD: 8,
                K.LOADER_ITER: 4,
                K.EPOCH_END: 4,
                K.CHECKPOINT: 2,
            },
        ),
        ("trainer", 4, {K.FETCH: 4, K.FORWARD: 8, K.BACKWARD: 4, K.OPTIMIZER: 4}),
        ("gan", 4, {K.FETCH: 4, K.FORWARD: 16, K.BACKWARD: 8, K.OPTIMIZER: 8}),
        ("accumulate", 4, {K.FETCH: 16, K.FORWARD: 16, K.BACKWARD: 16, K.OPTIMIZER: 4, K.ZERO_GRAD: 4}),
        ("generator", 6, {K.FETCH: 0, K.FORWARD: 6, K.BACKWARD: 6, K.OPTIMIZER: 6}),
        ("whole", 20, {K.FETCH: 0, K.FORWARD: 20, K.BACKWARD: 20, K.OPTIMIZER: 0}),
        ("inference", 64, {K.FETCH: 64, K.FORWARD: 64, K.BACKWARD: 0, K.OPTIMIZER: 0}),
    ],
)
def test_steps_and_events_are_those_of_the_program(probed, name, steps, expected):
    done = probed[name]
    assert done.reading.end.steps == steps
    seen = counts(done)
    assert {kind: seen[kind] for kind in expected} == expected


def test_optimizers_of_every_kind_step(probed):
    """A user's own optimizer, and LBFGS, whose closure runs inside its step."""
    done = probed["closure"]
    steps = Counter(event.arg for event in done.main if event.kind is K.OPTIMIZER)
    assert steps == {1: 4, 2: 3}
    lbfgs = [event for event in done.main if event.kind is K.OPTIMIZER and event.arg == 2]
    inside = [event for event in done.main if event.kind is K.BACKWARD and event.start_ns >= lbfgs[0].start_ns]
    assert len(inside) >= 3
    assert all(
        any(step.start_ns <= event.start_ns and event.end_ns <= step.end_ns for step in lbfgs) for event in inside
    )


def test_events_of_the_main_thread_nest_or_follow_each_other(probed):
    for done in probed.values():
        ends = []
        for event in sorted(done.main, key=lambda event: (event.start_ns, -event.end_ns)):
            while ends and ends[-1] <= event.start_ns:
                ends.pop()
            assert not ends or event.end_ns <= ends[-1]
            ends.append(event.end_ns)


def test_batches_know_their_samples(probed):
    values = [event.value for event in probed["plain"].main if event.kind is K.FETCH]
    assert sorted(values) == [4] * 8 + [8] * 8


def test_forward_says_training_and_grad(probed):
    flags = Counter((event.arg, event.flags) for event in probed["plain"].main if event.kind is K.FORWARD)
    assert flags == {(1, 3): 8, (2, 3): 8, (1, 0): 8}


def test_printing_is_the_same_as_without(probed, tmp_path):
    for name in ("plain", "copies", "transforms"):
        plain = run([sys.executable, str(PROGRAMS / f"{name}.py")], cwd=tmp_path, env=plain_env())
        assert (plain.returncode, plain.stderr) == (0, "")
        assert probed[name].stdout == plain.stdout


def test_modules_of_every_making_are_found(probed):
    """Scripted, traced, fx, parallel, parametrized, lazy: each with its own class and parameters."""
    classes = {seen.module_class.rpartition(".")[2] for seen in probed["transforms"].reading.evidence.forwards}
    assert {
        "Net",
        "RecursiveScriptModule",
        "TopLevelTracedModule",
        "DataParallel",
        "AveragedModel",
        "Sequential",
    } <= classes
    traced = {
        seen.module_class.rpartition(".")[2] for seen in probed["transforms"].reading.evidence.forwards if seen.traced
    }
    assert traced == {"RecursiveScriptModule", "TopLevelTracedModule"}


def test_sites_name_the_very_call(probed):
    evidence = probed["plain"].reading.evidence
    lines = (PROGRAMS / "plain.py").read_text().splitlines()

    def text(site):
        assert site.path == str(PROGRAMS / "plain.py")
        assert site.end_line == site.line
        return lines[site.line - 1].encode()[site.column : site.end_column].decode()

    assert [text(seen.stack[-1]) for seen in evidence.optimizers] == ["torch.optim.AdamW(model.parameters(), lr=1e-2)"]
    assert [text(seen.stack[-1]) for seen in evidence.backwards] == ["loss.backward()"]
    assert [(text(seen.stack[-1]), seen.training) for seen in evidence.forwards] == [
        ("model(x)", True),
        ("criterion(model(x), y)", True),
        ("model(x)", False),
    ]
    assert [text(seen.stack[-2]) for seen in evidence.loaders] == [
        "loader(num_workers=args.workers, multiprocessing_context=args.context)",
        "loader(16, 4)",
    ]
    assert evidence.loaders[0].stack[-1].path == str(PROGRAMS / "parts.py")


def test_sites_of_one_call_of_a_function_share_its_frame(probed):
    evidence = probed["plain"].reading.evidence
    frames = {seen.stack[1].frame for seen in (*evidence.forwards[:2], *evidence.backwards, *evidence.optimizers)}
    assert len(frames) == 1
    assert [site.function for site in evidence.backwards[0].stack] == ["<module>", "main"]


def test_the_model_is_named_in_the_frame_of_the_optimizer(probed):
    named = {name: [seen.modules for seen in done.reading.evidence.optimizers] for name, done in probed.items()}
    assert named["plain"] == [{"model": 1, "criterion": 2}]
    assert named["trainer"] == [{"self.net": 1, "self.loss_function": 2}]
    generator, critic = named["gan"][0]["generator"], named["gan"][0]["critic"]
    assert named["gan"] == [{"generator": generator, "critic": critic}] * 2
    assert {generator, critic} == {1, 2}


def test_modules_are_described(probed):
    first = probed["plain"].reading.evidence.forwards[0]
    assert (first.module_class, first.num_parameters, first.parameter_dtypes) == ("parts.Net", 58, ("float32",))
    assert first.input_shapes == ((8, 4),)
    assert not first.forward_in_torch
    assert not first.compiled
    assert probed["gan"].reading.evidence.forwards[0].forward_in_torch


def test_loaders_options_and_the_process_are_described(probed):
    evidence = probed["plain"].reading.evidence
    train, test = evidence.loaders
    assert (train.batch_size, train.dataset_len, train.num_workers, test.batch_size) == (8, 32, 0, 4)
    assert train.dataset_class == "torch.utils.data.dataset.TensorDataset"
    options = {option.dest: option for option in evidence.options}
    assert options["epochs"].flags == ("--epochs", "-e")
    assert (options["epochs"].value, options["epochs"].takes_value, options["fail"].takes_value) == (2, True, False)
    environment = evidence.environment
    assert environment.script == str(PROGRAMS / "plain.py")
    assert environment.main_guard
    assert not probed["gan"].reading.evidence.environment.main_guard
    assert environment.intra_op_threads == 1
    assert probed["functional"].reading.evidence.environment.intra_op_threads == 1, (
        "nothing but backward told of torch's use"
    )


def test_stack_samples_name_category_and_place(tmp_path):
    """The program itself waits in every category until it has been seen there, so no timing is assumed."""
    done = run_program("sampled.py", folder=tmp_path / "probe", sample_hz=500)
    assert (done.exit_code, done.stderr, done.reading.faults) == (0, "", ())
    place = f"{PROGRAMS / 'sampled.py'}:"
    seen = {
        where.split("|")[0] for where, _count in done.reading.stack_samples if where.split("|")[1].startswith(place)
    }
    assert {"data_wait", "forward", "backward", "optimizer", "python"} <= seen


def test_the_last_loss_is_kept(probed):
    end = probed["plain"].reading.end
    printed = float(probed["plain"].stdout.split()[-3])
    assert end.last_loss == pytest.approx(printed, abs=1e-5)
    assert end.loss_finite is True
