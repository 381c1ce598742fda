"""Equivalence runs: which executions show that an edited program still computes the same, and the fewest of them.

The caller executes (`run`: sandbox, probe); `pitstop.tune.gates` judges. The original's runs are made once per tune.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from pitstop.messages import say
from pitstop.records import Change, Gate, Numerics
from pitstop.tune.gates import classes_of, decide, numerics_gates
from pitstop.tune.gates_material import EquivalenceRun

__all__ = ["BaselineMaterial", "RunProgram", "check_numerics", "read_equivalence"]

RunProgram = Callable[[Change, dict[str, object], str], Path]

ARITHMETICS = ("float64", "plain", "ulp", "ulp-2", "bf16")
CAPTURES = 3
SEEDS = 3
SEED_STEP = 1_000  # between seeds


class BaselineMaterial:
    """The original's runs, made when first asked for: by label, the folder and the numbers."""

    def __init__(self, *, seeds: int = SEEDS, captures: int = CAPTURES, original: Change | None = None) -> None:
        self.seeds, self.captures = seeds, captures
        self.original = original or Change()
        self.runs: dict[str, tuple[Path, EquivalenceRun | None]] = {}

    def get(self, label: str, *, config: dict[str, object], run: RunProgram) -> EquivalenceRun | None:
        """Return the run of `label`, executing it once."""
        if label not in self.runs:
            folder = run(_fixed(self.original), config, label)
            self.runs[label] = (folder, read_equivalence(folder))
        return self.runs[label][1]

    def folder(self, label: str) -> Path:
        """Return where a run that was made keeps its files."""
        return self.runs[label][0]


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
    Costs, in runs: the original 2 (exact) or `cache.seeds`, once; each change 1, or `cache.seeds` for same-distribution.
    """
    classes = classes_of(numerics)
    exact = Numerics.EXACT in classes
    first = _original(cache, run=run, steps=steps, replayed=not exact)
    if first is None:
        return _missing("finite", "original")
    repeated = None
    baseline = [first]
    if exact:
        repeated = cache.get("original-again", config=_record(steps, 0), run=run)
    else:
        for seed in range(1, cache.seeds):
            other = cache.get(f"original-seed-{seed}", config=_record(steps, seed), run=run)
            baseline += [other] if other is not None else []
    config = _record(steps, 0)
    if not exact:
        config |= {
            "replay": ["plain"],
            "replay_from": str(cache.folder("original")),
            "stop_after_steps": steps + len(first.captures),
        }
    mine = read_equivalence(run(_fixed(treated), config, label))
    if mine is None:
        return _missing("finite", label)
    ours = [mine]
    gates = numerics_gates(ours, baseline=baseline, repeated=repeated, numerics=classes)
    if Numerics.SAME_DISTRIBUTION not in classes or decide(gates, numerics=classes) == "failed":
        return gates
    for seed in range(1, cache.seeds):
        other = read_equivalence(run(_fixed(treated), _record(steps, seed), f"{label}-seed-{seed}"))
        ours += [other] if other is not None else []
    return numerics_gates(ours, baseline=baseline, repeated=repeated, numerics=classes)


def _original(cache: BaselineMaterial, *, run: RunProgram, steps: int, replayed: bool) -> EquivalenceRun | None:
    """Return the original's first run; without fp64 where the program cannot live in it."""
    if not replayed and "original" not in cache.runs:
        return cache.get("original-plain", config=_record(steps, 0), run=run)
    if not replayed:
        return cache.get("original", config={}, run=run)
    config = _replayed(steps, cache.captures, ARITHMETICS)
    first = cache.get("original", config=config, run=run)
    if first is not None and first.complete and first.captures and not first.replayed(ARITHMETICS[-1]):
        cache.runs.pop("original")
        first = cache.get("original", config=_replayed(steps, cache.captures, ARITHMETICS[1:]), run=run)
    return first


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


def _missing(name: str, label: str) -> tuple[Gate, ...]:
    return (Gate(name=name, passed=None, detail=say("gates.reason.missing", why=label)),)


def read_equivalence(folder: Path) -> EquivalenceRun | None:
    """Return the numbers of the process that trained (rank 0), or None where none were left or they are cut off."""
    path = folder / "equivalence-0.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=EquivalenceRun)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
