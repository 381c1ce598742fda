"""Equivalence runs: which executions show that an edited program still computes the same, and the fewest of them.

The caller executes (`run`: sandbox, probe); `pitstop.tune.gates` judges. The original's runs are made once per tune.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from pitstop.messages import say
from pitstop.records import Change, Gate, Numerics
from pitstop.tune.gates import REQUIRED_IN_STEP, classes_of, numerics_gates
from pitstop.tune.gates_material import EquivalenceRun, Replayed

__all__ = ["BaselineMaterial", "RunProgram", "check_numerics", "read_equivalence"]

RunProgram = Callable[[Change, dict[str, object], str], Path]

ARITHMETICS = ("float64", "plain", "ulp", "ulp-2", "bf16")
CAPTURES = 3
FEWEST_STEPS = 10  # recorded
SEEDS = 3
SEED_STEP = 1_000  # between seeds


class BaselineMaterial:
    """The original's runs, made when first asked for: by label, the folder and the numbers. `steps` may shrink to what it has."""

    def __init__(self, *, seeds: int = SEEDS, captures: int = CAPTURES, original: Change | None = None) -> None:
        self.seeds, self.captures = seeds, captures
        self.original = original or Change()
        self.runs: dict[str, tuple[Path, EquivalenceRun | None]] = {}
        self.steps = 0
        self.replayed: EquivalenceRun | None = None

    def get(self, label: str, *, config: dict[str, object], run: RunProgram) -> EquivalenceRun | None:
        """Return the run of `label`, executing it once."""
        if label not in self.runs:
            folder = run(_fixed(self.original), config, label)
            self.runs[label] = (folder, read_equivalence(folder))
        return self.runs[label][1]

    def folder(self, label: str) -> Path:
        """Return where a run that was made keeps its files."""
        return self.runs[label][0]

    def first(self, *, steps: int, run: RunProgram) -> EquivalenceRun | None:
        """Return the original's recording with its replays in every arithmetic; sets `steps`."""
        if self.replayed is None:
            self.steps = steps
            found = self._recorded_and_replayed(run)
            if found is not None and not found.crash and not found.closure and found.steps < self.steps + self._extra():
                # It ends before: record less, or compute fewer steps again.
                self.steps = found.steps - self._extra()
                if self.steps < FEWEST_STEPS:
                    self.captures, self.steps = 1, found.steps - len(ARITHMETICS)
                self.runs.pop("original")
                found = self._recorded_and_replayed(run) if self.steps > 1 else found
            self.replayed = found
        return self.replayed

    def _extra(self) -> int:
        """Return how many steps beyond the recorded ones the first run takes."""
        found = self.runs["original"][1]
        return 0 if found is None or not found.in_step() else self.captures * len(ARITHMETICS)

    def _recorded_and_replayed(self, run: RunProgram) -> EquivalenceRun | None:
        found = self.get("original", config=_replayed(self.steps, self.captures, ARITHMETICS), run=run)
        if found is None or not found.captures or found.closure:
            return found
        if not found.in_step():
            return self._in_phase(found, run=run)
        if found.crash and not found.replayed("plain"):  # the program cannot live in fp64
            self.runs.pop("original")
            return self.get("original", config=_replayed(self.steps, self.captures, ARITHMETICS[1:]), run=run)
        return found

    def _in_phase(self, found: EquivalenceRun, *, run: RunProgram) -> EquivalenceRun:
        """Return `found` with replays of one more run per arithmetic: a program that makes its own batches."""
        replays: list[Replayed] = []
        for variant in ARITHMETICS:
            config = self.in_phase(variant, found=found)
            other = self.get(f"original-{variant}", config=config, run=run)
            replays += other.replays if other is not None else ()
        return msgspec.structs.replace(found, replays=tuple(replays))

    def in_phase(self, variant: str, *, found: EquivalenceRun) -> dict[str, object]:
        """Return the configuration that replays each captured step at its own place in the run."""
        return _record(self.steps, 0) | {
            "in_phase": True,
            "capture_steps": list(found.captures),
            "replay": [variant],
            "replay_from": str(self.folder("original")),
            "reference_from": str(self.runs["original-float64"][0]) if variant != "float64" else None,
        }


def check_numerics(
    *,
    treated: Change,
    numerics: Numerics | Iterable[Numerics],
    run: RunProgram,
    steps: int,
    cache: BaselineMaterial,
    label: str = "treated",
) -> tuple[Gate, ...]:
    """Run what the classes in `numerics` need and return their gates.

    `run(change, config, label)` executes the program once with the probe in equivalence mode, `config` being the `equivalence`
    object of its `config.json` (it holds `seed_offset` and `stop_after_steps` too), and returns the probe folder, whose files must
    stay until tuning ends and be readable in later runs. `steps` are recorded per run; replays come on top of them.
    Costs, in runs: the original 2 (exact) or `cache.seeds`, once (5 more if it makes its own batches); each change 1, or
    `cache.seeds` for same-distribution.
    """
    classes = classes_of(numerics)
    if Numerics.EXACT in classes:
        return _check_exact(treated, run=run, steps=steps, cache=cache, label=label)
    first = cache.first(steps=steps, run=run)
    if first is None:
        return _missing("original")
    seeds = [cache.get(f"original-seed-{n}", config=_record(cache.steps, n), run=run) for n in range(1, cache.seeds)]
    baseline = [first, *(one for one in seeds if one is not None)]
    mine = read_equivalence(run(_fixed(treated), _treated(cache, first), label))
    if mine is None:
        return _missing(label)
    ours = [mine]
    gates = numerics_gates(ours, baseline=baseline, repeated=None, numerics=classes)
    if Numerics.SAME_DISTRIBUTION not in classes or not _open(gates):
        return gates
    for seed in range(1, cache.seeds):
        other = read_equivalence(run(_fixed(treated), _record(cache.steps, seed), f"{label}-seed-{seed}"))
        ours += [other] if other is not None else []
    return numerics_gates(ours, baseline=baseline, repeated=None, numerics=classes)


def _open(gates: tuple[Gate, ...]) -> bool:
    """Return whether further seeds can still make the decision "passed": the loss curve alone is missing."""
    passed = {gate.name for gate in gates if gate.passed}
    return not any(gate.passed is False for gate in gates) and passed >= REQUIRED_IN_STEP


def _check_exact(
    treated: Change, *, run: RunProgram, steps: int, cache: BaselineMaterial, label: str
) -> tuple[Gate, ...]:
    pair = [cache.get(f"original-plain-{n}", config=_record(steps, 0), run=run) for n in (1, 2)]
    mine = read_equivalence(run(_fixed(treated), _record(steps, 0), label))
    if pair[0] is None or mine is None:
        return _missing("original" if pair[0] is None else label)
    return numerics_gates([mine], baseline=[pair[0]], repeated=pair[1], numerics=Numerics.EXACT)


def _treated(cache: BaselineMaterial, first: EquivalenceRun) -> dict[str, object]:
    """Return the edited program's first run: recorded, and the original's captured steps computed again."""
    if first.captures and not first.in_step():
        return cache.in_phase("plain", found=first)
    return _record(cache.steps, 0) | {
        "replay": ["plain"] if first.captures else [],
        "replay_from": str(cache.folder("original")),
        "stop_after_steps": cache.steps + len(first.captures),
    }


def _record(steps: int, seed: int) -> dict[str, object]:
    return {"role": "record", "steps": steps, "stop_after_steps": steps, "seed_offset": seed * SEED_STEP}


def _replayed(steps: int, captures: int, arithmetics: tuple[str, ...]) -> dict[str, object]:
    return _record(steps, 0) | {
        "captures": captures,
        "replay": list(arithmetics),
        "stop_after_steps": steps + captures * len(arithmetics),
    }


def _fixed(change: Change) -> Change:
    """Give both programs the same string hashes: a set of words then has one order."""
    return msgspec.structs.replace(change, env={"PYTHONHASHSEED": "0", **change.env})


def _missing(label: str) -> tuple[Gate, ...]:
    return (Gate(name="finite", passed=None, detail=say("gates.reason.missing", why=label)),)


def read_equivalence(folder: Path) -> EquivalenceRun | None:
    """Return the numbers of the process that trained (rank 0), or None where none were left or they are cut off."""
    path = folder / "equivalence-0.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=EquivalenceRun)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
