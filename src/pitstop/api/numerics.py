"""The numerics gates of one tune: equivalence runs in the sandbox, judged, and what they cost."""

import time
from pathlib import Path
from typing import Literal

from pitstop.api.baseline import Baseline
from pitstop.api.bench import Bench
from pitstop.measure.equivalence import BaselineMaterial, check_numerics
from pitstop.measure.probe_folder import ProbeConfig
from pitstop.records import Change, Numerics
from pitstop.tune.gates import decide
from pitstop.tune.search_actions import NumericsReport

__all__ = ["NumericsBench"]

# Steps recorded per equivalence run: one epoch where it is short, so that its samples can be compared as a multiset.
_STEPS = 40
_LONGEST_EPOCH = 80
_DECISIONS: dict[str, Literal["passed", "failed", "not-made"]] = {
    "passed": "passed",
    "failed": "failed",
    "could not be made": "not-made",
}


class NumericsBench:
    """Makes equivalence runs on `bench`; the original's own runs are made once and shared by all checks."""

    def __init__(self, bench: Bench, *, baseline: Baseline) -> None:
        self._bench = bench
        self._material = BaselineMaterial()
        self._steps = equivalence_steps(baseline)

    def check(self, names: tuple[str, ...], *, change: Change, classes: frozenset[Numerics]) -> NumericsReport:
        """Return the gates' report for `change`, the proposals `names` together."""
        began = time.monotonic_ns()
        gates = check_numerics(
            treated=change,
            numerics=classes,
            run=self._run,
            steps=self._steps,
            cache=self._material,
            label="+".join(names),
        )
        return NumericsReport(
            proposals=names,
            gates=gates,
            wall_ns=time.monotonic_ns() - began,
            decision=_DECISIONS[decide(gates, numerics=classes)],
        )

    def _run(self, change: Change, equivalence: dict[str, object], label: str) -> Path:
        config = ProbeConfig(mode="equivalence", project_root=str(self._bench.root), equivalence=equivalence)
        _run, folder = self._bench.run(f"numerics-{label}"[:80].replace("/", "_"), change=change, probe=config)
        return folder


def equivalence_steps(baseline: Baseline) -> int:
    """Return how many steps an equivalence run records: a whole short epoch and a little, and no more than the program has."""
    epoch = baseline.analysis.epoch_steps
    wanted = epoch + 2 if epoch is not None and _STEPS // 2 < epoch <= _LONGEST_EPOCH else _STEPS
    steps = baseline.analysis.steps
    if baseline.ends_by_itself and steps is not None:
        return min(wanted, steps.count)
    return wanted
