"""Hot places: samples say where, the ledger says how much."""

import pytest

from pitstop.api.analysis import _hot
from pitstop.records import CATEGORIES, Evidence, Ledger, Program, Run, TreeUsage


def run(**samples: int) -> Run:
    return Run(
        program=Program(argv=("python",), cwd="/"),
        exit_code=0,
        started_ns=0,
        ended_ns=1,
        processes=(),
        evidence=Evidence(project_root="/"),
        usage=TreeUsage(),
        stack_samples=tuple((f"{category}|file.py:1 {category}", count) for category, count in samples.items()),
    )


def ledger(**shares: int) -> Ledger:
    return Ledger(wall_ns=100, steps=1, categories_ns={category: shares.get(category, 0) for category in CATEGORIES})


def test_an_environment_of_pure_python_is_as_hot_as_the_ledger_says():
    """Nine of ten samples fell into the forward, which lets other threads run; the ledger knows better."""
    found = {place.where: place.share for place in _hot(run(forward=18, python=2), ledger(forward=20, python=80))}
    assert found == {"python|file.py:1 python": pytest.approx(0.8), "forward|file.py:1 forward": pytest.approx(0.2)}


@pytest.mark.parametrize("known", [None, ledger(forward=50, python=50)])
def test_without_a_ledger_or_without_samples_on_both_sides_samples_are_all_there_is(known):
    found = {place.where: place.share for place in _hot(run(forward=3, backward=1), known)}
    assert found == {"forward|file.py:1 forward": 0.75, "backward|file.py:1 backward": 0.25}
    assert _hot(run(), known) == ()
