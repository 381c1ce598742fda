"""Programs that compile: graphs, graph breaks and recompiles are those of the program without the probe."""

import sys
from collections import Counter

import pytest
from probed import PROGRAMS, plain_env, run, run_program

from pitstop.records import EventKind

pytestmark = pytest.mark.torch

HOWS = (
    "module",
    "late-module",
    "hooked-module",
    "builtin-module",
    "place",
    "late-place",
    "builtin-place",
    "hooked-place",
    "function",
    "late-function",
)


@pytest.mark.parametrize("first", ["module", "late-module", "hooked-module", "place", "function"])
def test_nothing_that_dynamo_counts_changes(tmp_path, first):
    """Each way is also once the first of its process: it then meets the search for outermost modules."""
    ways = [first, *(how for how in HOWS if how != first)] if first == "module" else [first]
    plain = run([sys.executable, str(PROGRAMS / "compiled.py"), *ways], cwd=tmp_path, env=plain_env())
    done = run_program("compiled.py", *ways, folder=tmp_path / "probe")
    assert plain.returncode == 0
    assert "unique_graphs" in plain.stdout
    assert done.stdout == plain.stdout
    assert done.stderr == plain.stderr
    assert (done.exit_code, done.reading.faults) == (0, ())
    if first == "late-module":
        check_late(done)


def check_late(done):
    """The model and the compiled wrapper made of it after the first steps are one module, seen in both states."""
    assert Counter(event.arg for event in done.main if event.kind is EventKind.FORWARD) == {1: 11}
    assert [(seen.id, seen.compiled) for seen in done.reading.evidence.forwards] == [(1, False), (1, True)]
    assert done.count(EventKind.COMPILE) == 2  # the forward graph, and the backward one at its first use
    end = done.reading.end
    assert (end.compiled_graphs, end.graph_breaks, end.recompiles) == (1, 0, 0)
    assert end.compiles_after_warmup == 2
