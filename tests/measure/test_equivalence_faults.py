"""Seeded faults, one at a time in programs that train well, are all turned away, and by the gates that should see them."""

import pytest
from equivalence_runner import failed, programs, show

from pitstop.records import Numerics

pytestmark = pytest.mark.torch

STEP = "            optimizer.step()\n"
PRECISION = Numerics.PRECISION  # the widest limits for the computation
DISTRIBUTION = Numerics.SAME_DISTRIBUTION  # the widest for the data

# (name, edits, gates that must be among those that fail)
COMPUTATION = [
    ("learning rate x 1.1", [("lr=1e-3", "lr=1.1e-3")], {"settings", "update"}),
    (
        "loss halved",
        [("loss.backward()", "loss = loss / 2\n            loss.backward()")],
        {"teacher-forced-loss", "teacher-forced-scale"},
    ),
    (
        "loss 2.5 % too large",
        [("loss.backward()", "(loss * 1.025).backward()")],
        {"teacher-forced-loss", "teacher-forced-scale"},
    ),
    (
        "summed instead of averaged",
        [("logits, labels)", "logits, labels, reduction='sum')")],
        {"teacher-forced-gradient"},
    ),
    (
        "gradient of one layer zeroed",
        [(STEP, "            model.conv1.weight.grad.zero_()\n" + STEP)],
        {"teacher-forced-layers"},
    ),
    (
        "gradient of one small layer zeroed",
        [(STEP, "            model.norm1.bias.grad.zero_()\n" + STEP)],
        {"teacher-forced-layers"},
    ),
    (
        "every tenth optimizer step skipped",
        [
            (STEP, "            if (batch + 1) % 10:\n                optimizer.step()\n"),
            ("for images, labels in loader:", "for batch, (images, labels) in enumerate(loader):"),
        ],
        {"rhythm"},
    ),
    (
        "every tenth gradient lost",
        [
            (STEP, "            if (batch + 1) % 10 == 0:\n                optimizer.zero_grad()\n" + STEP),
            ("for images, labels in loader:", "for batch, (images, labels) in enumerate(loader):"),
        ],
        {"rhythm"},
    ),
    ("dropout off", [("nn.Dropout(0.2)", "nn.Dropout(0.0)")], {"teacher-forced-gradient"}),
    (
        "batch norm in evaluation mode",
        [("        model.train()\n", "        model.train(); model.norm1.eval(); model.norm2.eval()\n")],
        {"teacher-forced-loss"},
    ),
    (
        "one logit x 10",
        [
            (
                "            loss = F",
                "            logits = logits * torch.tensor([10.0] + [1.0] * 9)\n            loss = F",
            )
        ],
        {"teacher-forced-loss"},
    ),
    (
        "5 % of the labels shifted in the loop",
        [
            (
                "            optimizer.zero_grad()",
                "            labels = torch.where(torch.arange(len(labels)) % 20 == 0, (labels + 1) % 10, labels)\n            optimizer.zero_grad()",
            )
        ],
        {"teacher-forced-loss"},
    ),
    (
        "5 % of the labels shifted in the data set",
        [("int(self.labels[index])", "int(self.labels[index] + (index % 20 == 0)) % 10")],
        {"batches", "trajectory"},
    ),
    ("weight decay lost", [("weight_decay=0.05", "weight_decay=0.0")], {"settings", "update"}),
    (
        "weight decay undone by hand",
        [
            (
                STEP,
                "            with torch.no_grad():\n                for p in model.parameters():\n"
                "                    p.div_(1 - optimizer.param_groups[0]['lr'] * 0.05)\n" + STEP,
            )
        ],
        {"update"},
    ),
    ("gradients never zeroed", [("            optimizer.zero_grad()\n", "")], {"teacher-forced-gradient"}),
    (
        "autocast left open: stale weights",
        [
            (
                "    for epoch in range(8):",
                "    torch.autocast('cpu', dtype=torch.bfloat16).__enter__()\n    for epoch in range(8):",
            )
        ],
        {"teacher-forced-loss"},
    ),
    ("normalised twice", [("model(images)", "model((images - 0.305) / 0.376)")], {"teacher-forced-gradient"}),
    ("inputs overflow in fp16", [("model(images)", "model((images * 60000).half().float() / 60000)")], {"finite"}),
    (
        "labels cast to a type too small",
        [("logits, labels)", "logits, (labels * 32).to(torch.uint8).long() // 32)")],
        {"teacher-forced-loss"},
    ),
    (
        "NaN in one weight late",
        [(STEP, STEP + "            if schedule.last_epoch == 25: model.head.bias.data[0] = float('nan')\n")],
        {"finite"},
    ),
    ("schedule lost", [("            schedule.step()\n", "")], {"settings", "update"}),
]
DATA = [
    (
        "labels shifted in the data set",
        [("int(self.labels[index])", "int(self.labels[index] + (index % 20 == 0)) % 10")],
        {"sample-values"},
    ),
    (
        "normalised twice in the data set",
        [("(image - 0.305) / 0.376", "((image - 0.305) / 0.376 - 0.305) / 0.376")],
        {"sample-values", "batch-statistics"},
    ),
    ("last batch dropped", [("shuffle=True", "shuffle=True, drop_last=True")], {"sample-multiset"}),
    (
        "half of the samples",
        [("        return len(self.images)", "        return len(self.images) // 2")],
        {"sample-multiset"},
    ),
    ("not shuffled", [("shuffle=True", "shuffle=False")], {"sample-multiset"}),
    ("batch halved", [("batch_size=64", "batch_size=32")], {"sample-multiset"}),
]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    with programs(tmp_path_factory.mktemp("faults")) as found:
        yield found


@pytest.mark.parametrize(("edits", "seen_by"), [pytest.param(*rest, id=name) for name, *rest in COMPUTATION])
def test_a_fault_in_the_computation_is_turned_away_even_as_precision(machine, edits, seen_by):
    gates = machine.check("cnn", edits, PRECISION)
    assert seen_by <= failed(gates), show(gates)


@pytest.mark.parametrize(("edits", "seen_by"), [pytest.param(*rest, id=name) for name, *rest in DATA])
def test_a_fault_in_the_data_is_turned_away_even_as_same_distribution(machine, edits, seen_by):
    gates = machine.check("cnn", edits, DISTRIBUTION)
    assert seen_by <= failed(gates), show(gates)


def test_a_stream_that_every_worker_repeats_is_turned_away(machine):
    edits = [
        ("batch_size=64", "batch_size=64, num_workers=2"),
        ("(worker.id, worker.num_workers) if worker else (0, 1)", "(0, 1)"),
    ]
    gates = machine.check("stream", edits, DISTRIBUTION)
    assert "sample-multiset" in failed(gates), show(gates)


@pytest.mark.parametrize(
    ("edits", "seen_by"),
    [
        pytest.param([("0.1 * torch.randn", "0.2 * torch.randn")], {"batch-statistics"}, id="noise doubled"),
        pytest.param(
            [("random.random() < 0.5", "random.random() < 2.0")], {"batch-statistics"}, id="augmentation of all images"
        ),
        pytest.param(
            [('"label": self.labels[index]', '"label": (self.labels[index] + (index % 20 == 0)) % 10')],
            {"sample-values"},
            id="labels shifted",
        ),
    ],
)
def test_random_transforms_are_compared_in_distribution(machine, edits, seen_by):
    gates = machine.check("mlp", edits, DISTRIBUTION)
    assert seen_by <= failed(gates), show(gates)
