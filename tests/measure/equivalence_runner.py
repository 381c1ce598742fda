"""Executes the programs of tests/fixtures/equivalence in equivalence mode, without sandbox or the rest of the probe."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from pitstop.measure.equivalence import BaselineMaterial, RunProgram, check_numerics
from pitstop.records import Change, Gate, Numerics

PROGRAMS = Path(__file__).parents[1] / "fixtures" / "equivalence"
Edit = tuple[str, str]


class Programs:
    """One process that has imported torch, forked for every run; the originals' runs are kept per program."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.baselines: dict[str, BaselineMaterial] = {}
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAMS / "driver.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self.runs: list[str] = []

    def runner(self, name: str) -> RunProgram:
        """Return what `check_numerics` calls to execute the program `name`, edited or not."""

        def run(change: Change, config: dict[str, object], label: str) -> Path:
            folder = self.root / name / label
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            script = folder / f"{name}.py"
            original = PROGRAMS / script.name
            script.write_text(change.files.get(str(original)) or original.read_text())
            self.runs.append(f"{name}/{label}")
            self.execute(script, config=config | {"by_hand": name.startswith("by_hand")}, folder=folder, env=change.env)
            return folder

        return run

    def execute(
        self, script: Path, *, config: dict[str, object], folder: Path, env: dict[str, str] | None = None
    ) -> int:
        """Run one script and return its exit code."""
        job = {"config": config, "script": str(script), "folder": str(folder), "env": env or {}}
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def check(
        self, name: str, edits: Sequence[Edit], numerics: Numerics | Sequence[Numerics], *, steps: int = 30
    ) -> tuple[Gate, ...]:
        """Return the gates for the program with each (old, new) replaced; every old text must be there."""
        original = PROGRAMS / f"{name}.py"
        text = original.read_text()
        for old, new in edits:
            assert old in text, old
            text = text.replace(old, new)
        return check_numerics(
            treated=Change(files={str(original): text}),
            numerics=numerics,
            run=self.runner(name),
            steps=steps,
            cache=self.baselines.setdefault(name, BaselineMaterial()),
        )


@contextmanager
def programs(root: Path) -> Iterator[Programs]:
    """Keep one `Programs` for a test module."""
    found = Programs(root)
    try:
        yield found
    finally:
        found.process.stdin.close()
        found.process.wait(timeout=60)


def failed(gates: Sequence[Gate]) -> set[str]:
    """Return the names of the gates that failed."""
    return {gate.name for gate in gates if gate.passed is False}


def show(gates: Sequence[Gate]) -> str:
    """Return the gates as text for a failing assertion."""
    return "\n".join(str(msgspec.to_builtins(gate)) for gate in gates)
