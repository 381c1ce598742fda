"""Correct treatments of real programs pass their gates, with as few runs as the class needs."""

import pytest
from equivalence_runner import PROGRAMS, failed, programs, show

from pitstop.measure.equivalence import BaselineMaterial, check_numerics, read_equivalence
from pitstop.records import Change, Numerics
from pitstop.tune.gates import decide

pytestmark = pytest.mark.torch

AUTOCAST = (
    (
        "            logits = model(images)\n",
        '            with torch.autocast("cpu", dtype=torch.bfloat16):\n                logits = model(images)\n',
    ),
    ("cross_entropy(logits,", "cross_entropy(logits.float(),"),
)
AUTOCAST_MLP = (
    (
        '        logits = model(batch["image"])\n',
        '        with torch.autocast("cpu", torch.bfloat16):\n            logits = model(batch["image"]).float()\n',
    ),
)
WORKERS = (("shuffle=True", "shuffle=True, num_workers=2"),)
COMPILED = (
    (
        "    optimizer = torch.optim.AdamW(",
        "    @torch.compile\n    def loss_of(images, labels):\n        return F.cross_entropy(model(images), labels)\n\n"
        "    optimizer = torch.optim.AdamW(",
    ),
    (
        "            logits = model(images)\n            loss = F.cross_entropy(logits, labels)\n",
        "            loss = loss_of(images, labels)\n",
    ),
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    with programs(tmp_path_factory.mktemp("equivalence")) as found:
        yield found


@pytest.mark.parametrize(
    ("program", "edits", "numerics"),
    [
        pytest.param("cnn", AUTOCAST, Numerics.PRECISION, id="autocast of a network with batch norm and dropout"),
        pytest.param(
            "cnn", [("weight_decay=0.05", "weight_decay=0.05, fused=True")], Numerics.SAME_MATH, id="fused AdamW"
        ),
        pytest.param(
            "cnn",
            [("model = Net()", "model = Net().to(memory_format=torch.channels_last)")],
            Numerics.SAME_MATH,
            id="channels_last",
        ),
        pytest.param("cnn", WORKERS, Numerics.SAME_DISTRIBUTION, id="two workers"),
        pytest.param(
            "mlp",
            AUTOCAST_MLP,
            Numerics.PRECISION,
            id="autocast with accumulation and a dict batch",
        ),
        pytest.param(
            "mlp",
            [("weight_decay=1e-3", "weight_decay=1e-3, foreach=True")],
            Numerics.EXACT,
            id="foreach SGD, to the bit",
        ),
        pytest.param(
            "stream", [("batch_size=64", "batch_size=64, num_workers=2")], Numerics.SAME_DISTRIBUTION, id="split stream"
        ),
    ],
)
def test_a_correct_treatment_passes(machine, program, edits, numerics):
    gates = machine.check(program, edits, numerics)
    assert decide(gates, numerics=numerics) == "passed", show(gates)


def test_a_program_that_makes_its_own_batches_is_replayed_at_the_same_step(machine):
    """The transformer draws batches from its own generator: each captured step comes again only in its own place."""
    edit = (
        "    logits = model(tokens[:, :-1])\n",
        '    with torch.autocast("cpu", torch.bfloat16):\n        logits = model(tokens[:, :-1]).float()\n',
    )
    gates = machine.check("transformer", [edit], Numerics.PRECISION)
    assert decide(gates, numerics=Numerics.PRECISION) == "passed", show(gates)
    gradient = next(gate for gate in gates if gate.name == "teacher-forced-gradient")
    assert gradient.limit < 0.05  # other batches would make the yardstick useless: about 3


BY_HAND = (
    "            logits, hidden = model(tokens, hidden)\n            loss = nn.functional.cross_entropy(logits, targets)\n",
    '            with torch.autocast("cpu", torch.bfloat16):\n'
    "                logits, hidden = model(tokens, hidden)\n"
    "                loss = nn.functional.cross_entropy(logits, targets)\n"
    "            hidden = tuple(one.float() for one in hidden)\n",
)


def test_a_program_that_updates_its_weights_by_hand_is_checked_like_others(machine):
    gates = machine.check("by_hand", [BY_HAND], Numerics.PRECISION)
    assert decide(gates, numerics=Numerics.PRECISION) == "passed", show(gates)
    assert {gate.name for gate in gates if gate.passed} >= {"update", "rhythm", "trajectory"}


@pytest.mark.parametrize(
    ("edit", "gate"),
    [
        (("cross_entropy(logits, targets)\n", "cross_entropy(logits, targets) / 2\n"), "teacher-forced-loss"),
        (("p.data.add_(p.grad, alpha=-lr)", "p.data.add_(p.grad, alpha=-2 * lr)"), "update"),
    ],
)
def test_a_wrong_edit_of_an_update_by_hand_is_caught(machine, edit, gate):
    gates = machine.check("by_hand", [edit], Numerics.SAME_MATH)
    assert gate in failed(gates), show(gates)


@pytest.mark.parametrize(
    "edit",
    [
        ("            model.zero_grad()\n", ""),  # gradients pile up
        (  # a module is called between the backward and the update
            "            for p in model.parameters():\n",
            "            model.head(torch.zeros(1, 32))\n            for p in model.parameters():\n",
        ),
    ],
)
def test_an_update_by_hand_that_cannot_be_told_apart_is_not_passed(machine, edit):
    gates = machine.check("by_hand", [edit], Numerics.SAME_MATH)
    assert decide(gates, numerics=Numerics.SAME_MATH) != "passed", show(gates)
    assert {gate.passed for gate in gates if gate.name.startswith("teacher-forced")} == {None}, show(gates)


def test_several_classes_together_are_judged_by_all(machine):
    gates = machine.check("cnn", [*AUTOCAST, *WORKERS], (Numerics.SAME_DISTRIBUTION, Numerics.PRECISION))
    assert decide(gates, numerics=(Numerics.SAME_DISTRIBUTION, Numerics.PRECISION)) == "passed", show(gates)
    assert {"teacher-forced-scale", "sample-multiset"} <= {gate.name for gate in gates}


def test_rounding_to_bfloat16_is_not_the_same_math(machine):
    assert {"teacher-forced-loss", "teacher-forced-gradient"} <= failed(
        machine.check("cnn", AUTOCAST, Numerics.SAME_MATH)
    )


def test_two_workers_are_not_exact_where_transforms_draw_random_numbers(machine):
    assert failed(machine.check("mlp", WORKERS, Numerics.EXACT)) == {"bit-equal"}


def test_the_originals_runs_are_made_once(machine):
    """One precision candidate costs one run once the original's are there."""
    machine.check("cnn", AUTOCAST, Numerics.PRECISION)
    before = len(machine.runs)
    machine.check("cnn", AUTOCAST, Numerics.PRECISION)
    assert machine.runs[before:] == ["cnn/treated"]


def test_a_short_program_records_less_rather_than_nothing(machine, tmp_path):
    """With 32 steps in all, 30 recorded ones would leave none to compute again."""
    original = PROGRAMS / "cnn.py"
    short = original.read_text().replace("range(8)", "range(1)")
    cache = BaselineMaterial(original=Change(files={str(original): short}))
    run = machine.runner("cnn")
    edited = short.replace("weight_decay=0.05", "weight_decay=0.05, fused=True")
    gates = check_numerics(
        treated=Change(files={str(original): edited}), numerics=Numerics.SAME_MATH, run=run, steps=29, cache=cache
    )
    assert cache.steps == 29 - 15
    assert decide(gates, numerics=Numerics.SAME_MATH) == "passed", show(gates)


def test_a_program_that_leaves_nothing_is_said_to_be_missing(tmp_path):
    def run(change, config, label):
        return tmp_path

    gates = check_numerics(treated=Change(), numerics=Numerics.PRECISION, run=run, steps=30, cache=BaselineMaterial())
    assert [gate.passed for gate in gates] == [None]
    assert decide(gates, numerics=Numerics.PRECISION) == "could not be made"


def test_an_edit_that_crashes_is_told_and_costs_no_further_seeds(machine):
    before = len(machine.runs)
    edits = [*WORKERS, ("            optimizer.step()", "            optimizer.step(); {}[epoch - 1]")]
    gates = machine.check("cnn", edits, Numerics.SAME_DISTRIBUTION)
    assert decide(gates, numerics=Numerics.SAME_DISTRIBUTION) == "could not be made"
    assert any("KeyError: -1" in gate.detail for gate in gates), show(gates)
    assert machine.runs[before:].count("cnn/treated") == 1
    assert not any(label.startswith("cnn/treated-seed") for label in machine.runs[before:])


def test_a_cut_result_file_is_no_result(tmp_path):
    (tmp_path / "equivalence-0.json").write_text('{"seed_offset": 0, "los')
    assert read_equivalence(tmp_path) is None


@pytest.mark.slow
@pytest.mark.parametrize("numerics", [Numerics.SAME_MATH, Numerics.PRECISION])
def test_a_compiled_loss_passes(machine, numerics):
    """Compiled dropout draws what eager dropout draws (`fallback_random`), and forced weights reach the graph."""
    edits = COMPILED
    if numerics is Numerics.PRECISION:
        old, new = COMPILED[0]
        with_autocast = "        with torch.autocast('cpu', dtype=torch.bfloat16):\n            return F."
        edits = ((old, new.replace("        return F.", with_autocast)), COMPILED[1])
    gates = machine.check("cnn", edits, numerics)
    assert decide(gates, numerics=numerics) == "passed", show(gates)
