"""Edited programs, run for real: what is handed over must work, and moving code into functions must not change a number."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pitstop.treat import build_change, propose_all
from treat.golden import ROOT, one_of_each_group, view_of

pytestmark = pytest.mark.torch

# Compiled by "eager": dynamo traces for real, and the C++ compiler is left out. Prints and graphs of each program as JSON.
RUNNER = """
import contextlib, functools, io, json, runpy, sys, warnings
import torch
warnings.simplefilter("ignore")
plain, plain_module = torch.compile, torch.nn.Module.compile
torch.compile = functools.partial(plain, backend="eager")
torch.nn.Module.compile = lambda self, **options: plain_module(self, backend="eager", **options)
torch.set_num_threads(1)
found = {}
for script in sys.argv[1:]:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.manual_seed(0)
    sys.argv, out = [script], io.StringIO()
    sys.path.insert(0, script.rsplit("/", 1)[0])
    with contextlib.redirect_stdout(out):
        left = runpy.run_path(script, run_name="__main__")
    sys.path.pop(0)
    for name in ("engine", "nets"):
        sys.modules.pop(name, None)
    numbers = {name: value.item() for name, value in left.items() if isinstance(value, torch.Tensor) and value.numel() == 1}
    for name, value in left.items():
        if isinstance(value, torch.nn.Module):
            numbers[name] = sum(weight.double().sum().item() for weight in value.parameters())
    found[script] = [out.getvalue(), numbers, torch._dynamo.utils.counters["stats"]["unique_graphs"]]
print(json.dumps(found))
"""

COMPILED = [
    "sequential_flat",
    "sequential_function",
    "gan_sequential",
    "one_statement",
    "word_language_model",
    "manual_update",
    "float64_closure",
    "rnn_or_transformer",
    "flat_without_loop",
]
TOGETHER = [
    "mnist_argparse",
    "engine_module",
    "dcgan",
    "chinese",
    "kwargs_shared_dict",
    "loader_factory",
    "attribute_loss",
    "bom",
]


def written(name: str, folder: Path, treatments: set[str] | None) -> str:
    """Write a case with the edits of some treatments (None: all, with one worker); return the script's path."""
    view = view_of(name)
    chosen = [
        item for item in one_of_each_group(propose_all(view)[0]) if treatments is None or item.treatment in treatments
    ]
    files = {**view.sources, **build_change(chosen, view).files}
    folder.mkdir()
    for path, text in files.items():
        (folder / Path(path).relative_to(ROOT)).write_bytes(text.encode())
    return str(folder / "before.py")


def run(scripts: list[str]) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, *scripts], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_a_compiled_function_of_forward_and_loss_computes_the_same(tmp_path):
    before = {name: written(name, tmp_path / f"{name}-0", set()) for name in COMPILED}
    after = {name: written(name, tmp_path / f"{name}-1", {"compile"}) for name in COMPILED}
    found = run([*before.values(), *after.values()])
    for name in COMPILED:
        assert "@torch.compile\n" in Path(after[name]).read_text("utf-8")
        printed, numbers, graphs_before = found[before[name]]
        now_printed, now_numbers, graphs_after = found[after[name]]
        assert printed or numbers
        assert now_printed == printed
        assert {key: now_numbers[key] for key in numbers} == numbers
        assert graphs_before == 0
        assert graphs_after > 0


def test_programs_run_with_all_treatments_together(tmp_path):
    scripts = {name: written(name, tmp_path / name, None) for name in TOGETHER}
    found = run(list(scripts.values()))
    for name, script in scripts.items():
        assert found[script][2] > 0, name
