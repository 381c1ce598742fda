"""Gradient accumulation in loops as people write them: what is edited, what is refused, and that the training stays the same."""

import ast
import contextlib

import pytest

from pitstop.records import (
    CATEGORIES,
    ArgparseOption,
    BackwardSighting,
    EnvironmentSighting,
    Evidence,
    ForwardSighting,
    Ledger,
    LoaderSighting,
    Numerics,
    Program,
    Site,
    Steps,
)
from pitstop.treat import CannotEdit, View
from pitstop.treat.accumulate import accumulated_batch, smaller_batch
from treat.golden import NAMES
from treat.golden import view_of as case

PATH = "/p/train.py"
PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(44, 6), torch.randint(0, 3, (44,)))
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
loader = DataLoader(data, batch_size=16, shuffle=True)
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""


def line_of(text, words):
    return next(number for number, line in enumerate(text.splitlines(), 1) if words in line)


def view(text, *, batch=16, workers=0, batchnorm=0, dropout=0, options=(), argv=("train.py",)):
    site = Site(path=PATH, line=line_of(text, "DataLoader("))
    evidence = Evidence(
        project_root="/p",
        environment=EnvironmentSighting(
            pid=1, python="3.11.7", executable="python", argv=argv, script=PATH, main_guard=False, torch="2.13", cuda=False,
            device_names=(), intra_op_threads=1, inter_op_threads=1, affinity_cpus=2, cpu_capability=None, start_method=None,
        ),
        loaders=(
            LoaderSighting(
                id=1, stack=(site,), num_workers=workers, batch_size=batch, prefetch_factor=None, persistent_workers=False,
                pin_memory=False, multiprocessing_context=None, dataset_class="x", dataset_len=44, iterable=False,
                sampler_class="torch.utils.data.sampler.RandomSampler",
            ),
        ),
        forwards=(
            ForwardSighting(
                id=1, stack=(site,), module_class="x", training=True, grad_enabled=True, forward_in_torch=True, num_parameters=9,
                parameter_dtypes=("float32",), device="cpu", num_conv=0, num_batchnorm=batchnorm, num_dropout=dropout, num_rnn=0,
                sparse_embedding=False, input_shapes=(), channels_last=False, compiled=False, autocast=None, traced=False,
            ),
        ),
        backwards=(
            BackwardSighting(
                id=1, stack=(Site(path=PATH, line=line_of(text, ".backward(")),), create_graph=False, retain_graph=False
            ),
        ),
        options=options,
    )  # fmt: skip
    return View(
        evidence=evidence,
        ledger=Ledger(wall_ns=0, steps=0, categories_ns=dict.fromkeys(CATEGORIES, 0)),
        steps=Steps(clock="optimizer", start_ns=0, ends_ns=(), samples=()),
        cpus=2,
        sources={PATH: text},
        program=Program(argv=("python", *argv), cwd="/p"),
    )


def edited(text, factor=4, **seen):
    return accumulated_batch(view(text, **seen), factor).change.files[PATH]


def body(text):
    """The loop's lines after the edit, from its header on."""
    lines = text.splitlines()
    return lines[next(i for i, line in enumerate(lines) if "in enumerate(" in line) :]


def test_the_edit_is_what_a_person_would_write():
    assert body(edited(PROGRAM)) == [
        "    for micro_step, (x, y) in enumerate(loader):",
        "        if micro_step % 4 == 0:",
        "            optimizer.zero_grad()",
        "        loss = criterion(model(x), y)",
        "        remaining = len(loader.sampler) - micro_step // 4 * 4 * loader.batch_size",
        "        weight = min(loader.batch_size, remaining - micro_step % 4 * loader.batch_size) / min(4 * loader.batch_size, remaining)",
        "        (loss * weight).backward()",
        "        if (micro_step + 1) % 4 == 0 or micro_step + 1 == len(loader):",
        "            optimizer.step()",
    ]
    assert "batch_size=4, shuffle" in edited(PROGRAM)


def trained(text):
    names = {}
    exec(compile(text, PATH, "exec"), names)  # noqa: S102
    return names["model"].state_dict()


VARIANTS = {
    "plain": PROGRAM,
    "drop_last": PROGRAM.replace("shuffle=True", "shuffle=True, drop_last=True"),
    "sum": PROGRAM.replace("CrossEntropyLoss()", 'CrossEntropyLoss(reduction="sum")').replace("lr=0.5", "lr=0.01"),
    "zero after": PROGRAM.replace("        optimizer.zero_grad()\n", "") + "        optimizer.zero_grad()\n",
    "clipped": PROGRAM.replace(
        "        optimizer.step()",
        "        nn.utils.clip_grad_norm_(model.parameters(), 0.1)\n        optimizer.step()",
    ),
    "enumerated": PROGRAM.replace("for x, y in loader", "for i, (x, y) in enumerate(loader)")
    + "        if i % 10 == 0:\n            print(i, loss.item())\n",
    "one name": PROGRAM.replace("for x, y in loader:", "for batch in loader:\n        x, y = batch"),
    "at once": PROGRAM.replace(
        "        loss = criterion(model(x), y)\n        loss.back", "        criterion(model(x), y).back"
    ),
}


@pytest.mark.torch
@pytest.mark.parametrize("factor", [2, 4, 16])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_weights_after_three_epochs_are_those_of_the_whole_batch(name, factor):
    """Also with a last batch of 12 in an epoch of 44 samples, and with parts of it that are not full."""
    torch = pytest.importorskip("torch")
    text = VARIANTS[name]
    one, other = trained(text), trained(edited(text, factor))
    for key, value in one.items():
        torch.testing.assert_close(other[key], value, rtol=1e-4, atol=1e-5)


@pytest.mark.torch
def test_the_comparison_would_see_a_weight_that_is_forgotten():
    torch = pytest.importorskip("torch")
    wrong = edited(PROGRAM).replace("(loss * weight).backward()", "loss.backward()")
    assert not torch.allclose(trained(wrong)["0.weight"], trained(PROGRAM)["0.weight"], rtol=1e-2)


REFUSED = {
    "fit_backward": PROGRAM.replace("loss.backward()", "scaler.scale(loss).backward()"),
    "fit_between": PROGRAM.replace("        optimizer.step()", "        norm = clip(model)\n        optimizer.step()"),
    "fit_nested": PROGRAM.replace("        loss.backward()", "        if True:\n            loss.backward()"),
    "fit_leaves": PROGRAM + "        if loss > 9:\n            break\n",
    "fit_zero_grad": PROGRAM.replace("        optimizer.zero_grad()\n", ""),
    "fit_step": PROGRAM.replace("optimizer.step()", "optimizer.step(closure)"),
    "fit_several_backwards": PROGRAM + "        other.backward()\n",
    "fit_counts_batches": PROGRAM.replace(
        "for epoch",
        "schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1, epochs=3, steps_per_epoch=len(loader))\nfor epoch",
    ),
    "fit_average": PROGRAM + "        ema.update(model)\n",
    "fit_drop_last": PROGRAM.replace("shuffle=True", "shuffle=True, drop_last=drop"),
    "fit_no_loop": PROGRAM.replace("for x, y in loader:", "for x, y in zip(loader, other):"),
}


@pytest.mark.parametrize("key", REFUSED)
def test_a_loop_that_is_not_understood_is_refused_with_the_reason(key):
    with pytest.raises(CannotEdit) as refusal:
        edited(REFUSED[key])
    assert refusal.value.key == key
    assert refusal.value.reason


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (PROGRAM, {"batchnorm": 1}),
        (PROGRAM, {"dropout": 1}),
        (PROGRAM, {"workers": 2}),
        (PROGRAM.replace("nn.CrossEntropyLoss()", "contrastive"), {}),
        (PROGRAM.replace("CrossEntropyLoss()", "CrossEntropyLoss(weight=w)"), {}),
    ],
)
def test_what_sees_the_batch_itself_trains_otherwise(text, seen):
    found = accumulated_batch(view(text, **seen), 4)
    assert found.numerics is Numerics.TRAINING
    assert found.reason


def test_plain_means_and_sums_are_the_same_math():
    for text in VARIANTS.values():
        assert accumulated_batch(view(text), 4).numerics is Numerics.SAME_MATH


OPTION = ArgparseOption(dest="batch_size", flags=("--batch-size",), value=16, takes_value=True, default=32)


def test_an_option_is_set_on_the_launch_line():
    text = PROGRAM.replace("batch_size=16", "batch_size=args.batch_size")
    seen = view(text, options=(OPTION,), argv=("train.py", "--batch-size", "16"))
    change = accumulated_batch(seen, 4).change
    assert change.replaced_arguments == {"--batch-size": "4"}
    assert "batch_size=args.batch_size" in change.files[PATH]


def test_an_option_that_the_learning_rate_follows_stays():
    text = PROGRAM.replace("batch_size=16", "batch_size=args.batch_size").replace(
        "lr=0.5", "lr=0.1 * args.batch_size / 16"
    )
    change = accumulated_batch(view(text, options=(OPTION,)), 4).change
    assert change.replaced_arguments == {}
    assert change.arguments == ()
    assert "batch_size=4" in change.files[PATH]


def test_the_batch_alone_can_be_made_smaller():
    assert smaller_batch(view(PROGRAM), 2).files[PATH] == PROGRAM.replace("batch_size=16", "batch_size=2")


@pytest.mark.parametrize("name", NAMES)
def test_programs_as_people_write_them_are_edited_into_python_or_refused(name):
    seen = case(name)
    batch = next((loader.batch_size for loader in seen.evidence.loaders if loader.batch_size), 1)
    with contextlib.suppress(CannotEdit):
        for text in accumulated_batch(seen, 2 if batch % 2 == 0 else batch).change.files.values():
            ast.parse(text.encode())
