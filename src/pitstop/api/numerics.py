"""The numerics gates of one tune: equivalence runs in the sandbox, judged, and what they cost."""

import time
from pathlib import Path
from typing import Literal

from pitstop.api.baseline import Baseline
from pitstop.api.bench import Bench
from pitstop.measure.equivalence import BaselineMaterial, check_numerics
from pitstop.measure.probe_folder import ProbeConfig
from pitstop.messages import say
from pitstop.records import GRADIENTS, Change, EventKind, Gate, Numerics
from pitstop.tune.gates import decide
from pitstop.tune.search_actions import NumericsReport

__all__ = ["NumericsBench"]

# An equivalence run records about this much training, and between so many steps: fewer say little about a trajectory, more
# add little power for what they cost (docs/numerics.md).
_RECORD_NS = 6_000_000_000
_STEPS = (16, 80)
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
        self._by_hand = not baseline.analysis.run.evidence.optimizers
        steps, main = baseline.analysis.steps, baseline.analysis.run.main
        paced = steps is not None and steps.clock == "backward"
        events = main.events if main is not None and paced else ()
        self._has_clock = not self._by_hand or any(
            event.kind is EventKind.BACKWARD and event.arg != GRADIENTS for event in events
        )
        environment = baseline.analysis.run.evidence.environment
        self._several_ranks = environment is not None and environment.ranks > 1

    def check(self, names: tuple[str, ...], *, change: Change, classes: frozenset[Numerics]) -> NumericsReport:
        """Return the gates' report for `change`, the proposals `names` together."""
        if self._several_ranks:  # a step computed again by one rank alone would wait for ever in its collectives
            unmade = (Gate(name="finite", passed=None, detail=say("gates.reason.several_ranks")),)
            return NumericsReport(proposals=names, gates=unmade, wall_ns=0, decision="not-made")
        began = time.monotonic_ns()
        if not self._has_clock:  # optimizer steps, or else backward passes, tell an equivalence run where a step ends
            unmade = (Gate(name="finite", passed=None, detail=say("gates.reason.no_optimizer")),)
            return NumericsReport(proposals=names, gates=unmade, wall_ns=0, decision="not-made")
        gates = check_numerics(
            treated=change,
            numerics=classes,
            run=self._run,
            steps=self._steps,
            cache=self._material,
            label="+".join(names),
        )
        decision = _DECISIONS[decide(gates, numerics=classes)]
        seen = {gate.name for gate in gates if gate.passed}
        if self._by_hand and decision == "passed" and not seen & {"update", "bit-equal"}:
            decision = "not-made"  # an update by hand may do anything, so it has to be seen
        return NumericsReport(proposals=names, gates=gates, wall_ns=time.monotonic_ns() - began, decision=decision)

    def _run(self, change: Change, equivalence: dict[str, object], label: str) -> Path:
        equivalence = equivalence | {"by_hand": self._by_hand}
        config = ProbeConfig(mode="equivalence", project_root=str(self._bench.root), equivalence=equivalence)
        _run, folder = self._bench.run(f"numerics-{label}"[:80].replace("/", "_"), change=change, probe=config)
        return folder / "probe"


def equivalence_steps(baseline: Baseline) -> int:
    """Return how many steps an equivalence run records, at least a whole epoch where that fits, so that its samples can be compared."""
    steps, epoch = baseline.analysis.steps, baseline.analysis.epoch_steps
    if steps is None:
        raise ValueError("a run without steps has nothing to compare")
    wanted = min(max(round(_RECORD_NS / max(1.0, steps.steady_mean_ns)), _STEPS[0]), _STEPS[1])
    if epoch is not None and wanted < epoch + 2 <= _STEPS[1] and epoch + 2 <= 2 * wanted:
        wanted = epoch + 2
    return min(wanted, steps.count) if baseline.ends_by_itself else wanted
