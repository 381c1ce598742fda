"""Runs a program under the real probe, as the parent would, and reads back what it left."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pitstop.measure.probe_folder import ProbeConfig, ProbeReading, prepare_probe, read_probe
from pitstop.records import Event, EventKind

PROGRAMS = Path(__file__).parent.parent / "fixtures" / "probe"


@dataclass(frozen=True)
class Probed:
    """A finished program: what it did outwardly and what the probe saw."""

    exit_code: int
    stdout: str
    stderr: str
    folder: Path
    reading: ProbeReading

    @property
    def main(self) -> tuple[Event, ...]:
        return next(process.events for process in self.reading.processes if process.role == "main")

    def count(self, kind: EventKind) -> int:
        return sum(event.kind is kind for event in self.main)


def plain_env(**more: str) -> dict[str, str]:
    """The environment of the tests without anything of pitstop's or the tests' own."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PITSTOP", "COV"))}
    return {**env, "OMP_NUM_THREADS": "1", **more}


def run(argv, *, cwd, env=None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, cwd=cwd, env=env or plain_env(), capture_output=True, text=True, timeout=120, check=False
    )


def run_program(name: str, *arguments: object, folder: Path, **options) -> Probed:
    """Run one of tests/fixtures/probe in a working directory of its own."""
    work = folder.parent / (folder.name + "-work")
    work.mkdir(parents=True, exist_ok=True)
    return run_probed(PROGRAMS / name, *arguments, folder=folder, cwd=work, project_root=str(PROGRAMS), **options)


def run_probed(*arguments, folder: Path, python=(sys.executable,), cwd=None, env=None, **config) -> Probed:
    folder.mkdir(parents=True, exist_ok=True)
    users = env or plain_env()
    settings = ProbeConfig(**{"mode": "profile", "project_root": str(cwd or PROGRAMS), **config})
    done = run(
        [*python, *map(str, arguments)], cwd=cwd or folder, env={**users, **prepare_probe(folder, settings, users)}
    )
    return Probed(
        done.returncode, done.stdout, done.stderr, folder, read_probe(folder, project_root=settings.project_root)
    )
