"""What a gate has before its first timing run: versions, sandbox, both observed, a journal; made anew or read back."""

import shutil
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pitstop.api.baseline import Baseline, observe_baseline
from pitstop.api.bench import Bench
from pitstop.api.gate_sides import Sides, fingerprint, make_sides
from pitstop.api.program import program_name, read_program
from pitstop.errors import CouldNotMeasure, ProgramFailed, WrongUse
from pitstop.measure.git import Repository, find_repository
from pitstop.measure.machine import read_machine
from pitstop.measure.sandbox import SandboxPlan, describe, plan_sandbox
from pitstop.messages import say
from pitstop.records import CATEGORIES, Category, Ledger, Program, Trial
from pitstop.store import Journal, RunFolder, new_run_folder
from pitstop.tune.gate_search import BASE, HEAD, GateOptions
from pitstop.tune.window import Window

if TYPE_CHECKING:
    from pitstop.api.gate import GateRequest
    from pitstop.api.tune import ProgressSink

__all__ = ["GateSetup", "resume_gate", "start_gate"]

_BUDGET_S = 300.0
_MOST_BUSY = 1000  # a busy machine is waited for as long as the budget lasts


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    """What the journal keeps of a setup, so that `--resume` goes on exactly where it was."""

    program: Program
    versions: str  # fingerprint of both
    options: GateOptions
    tolerate_load: bool
    window: Window
    stop_after: int
    ledgers_ns: dict[str, dict[Category, int]]
    run_s: float  # what one observed run took, at most
    seed: str | None
    budget_s: float
    spent_s: float  # of it, before the first timing run


class GateSetup:
    """Everything that stays the same during one gate. Times of a budget are seconds."""

    def __init__(
        self, stored: _Stored, *, sides: Sides, plan: SandboxPlan, folder: RunFolder, journal: Journal
    ) -> None:
        self.sides = sides
        self.plan = plan
        self.folder = folder
        self.options = stored.options
        self.window = stored.window
        self.stop_after = stored.stop_after
        self.ledgers_ns = stored.ledgers_ns
        self.trials: tuple[Trial, ...] = tuple(journal.observations(Trial))  # of before the interruption
        self.looks: tuple[int, ...] | None = journal.get("looks", tuple[int, ...])
        self.spent_s = stored.spent_s + sum(trial.wall_ns for trial in self.trials) / 1e9
        self.budget_s = stored.budget_s
        self._journal = journal
        self.bench = Bench(
            stored.program, root=sides.root, folder=folder.path, plan=plan, tolerate_load=stored.tolerate_load
        )
        self.bench.baseline_wall_s = stored.run_s
        self.bench.seed = Path(stored.seed) if stored.seed else None

    def keep(self, trial: Trial) -> None:
        """Write a timing run into the journal; durable when this returns."""
        self._journal.append(trial)

    def keep_looks(self, looks: tuple[int, ...]) -> None:
        """Write into the journal at which numbers of pairs there is a look: a resumed gate may not choose them anew."""
        self._journal.put("looks", looks)


def start_gate(request: "GateRequest", *, progress: "ProgressSink") -> GateSetup:
    """Find the two versions, choose the sandbox and observe both. Raises PitstopError; the repository is only read."""
    began = time.monotonic()
    program = read_program(list(request.command), cwd=request.cwd, asked="gate")
    repository = find_repository(request.cwd)
    base = _base(request, repository)
    folder = new_run_folder(
        request.run_root or request.cwd, name=f"gate-{program_name(program)}", now=datetime.now().astimezone()
    )
    try:
        sides = _differing_sides(repository, base=base, head=request.head, folder=folder.path / "versions")
    except WrongUse:  # said at once, so nothing is left of it
        shutil.rmtree(folder.path, ignore_errors=True)
        raise
    plan = _plan(request, sides, folder=folder, progress=progress)
    budget_s = _BUDGET_S if request.budget_s is None else request.budget_s
    bench = Bench(program, root=sides.root, folder=folder.path, plan=plan, tolerate_load=request.tolerate_load)
    bench.ends_s = began + budget_s
    observed = {name: _observe(bench, sides, name=name, budget_s=budget_s, progress=progress) for name in (BASE, HEAD)}
    folder.write("run.json", msgspec.json.encode(observed[HEAD].analysis.run))
    stored = _Stored(
        program=program,
        versions=fingerprint(sides),
        options=_options(request),
        tolerate_load=request.tolerate_load,
        window=observed[BASE].window,
        stop_after=observed[BASE].stop_after,
        ledgers_ns={name: _per_step(one.analysis.ledger) for name, one in observed.items()},
        run_s=bench.baseline_wall_s or 0.0,
        seed=str(bench.seed) if bench.seed else None,
        budget_s=budget_s,
        spent_s=time.monotonic() - began,
    )
    journal = Journal.create(folder.path / "journal.sqlite")
    journal.put("gate", stored)
    return GateSetup(stored, sides=sides, plan=plan, folder=folder, journal=journal)


def resume_gate(request: "GateRequest", *, progress: "ProgressSink") -> GateSetup:
    """Read back the newest unfinished gate of the same command.

    Raises WrongUse where there is none, where one of the two versions has changed, or where the plan of runs would be another.
    """
    runs = (request.run_root or request.cwd) / ".pitstop" / "runs"
    for path in sorted(runs.glob("*"), reverse=True) if runs.is_dir() else ():
        if not (path / "journal.sqlite").is_file() or (path / "gate.json").exists():
            continue
        journal = Journal.open(path / "journal.sqlite")
        stored = journal.get("gate", _Stored)
        if stored is None or (stored.program.argv, stored.program.cwd) != (request.command, str(request.cwd)):
            continue
        _check_plan(request, stored)
        repository = find_repository(request.cwd)
        shutil.rmtree(path / "versions", ignore_errors=True)
        base = _base(request, repository)
        sides = make_sides(repository, base=base, head=request.head, folder=path / "versions")
        if fingerprint(sides) != stored.versions:
            raise WrongUse("gate.versions_changed")
        folder = RunFolder(path=path.resolve())
        plan = _plan(request, sides, folder=folder, progress=progress)
        return GateSetup(stored, sides=sides, plan=plan, folder=folder, journal=journal)
    raise WrongUse("gate.no_journal")


def _differing_sides(repository: Repository, *, base: str, head: str | None, folder: Path) -> Sides:
    sides = make_sides(repository, base=base, head=head, folder=folder)
    if not sides.differing:
        raise WrongUse("gate.nothing_differs", base=base)
    return sides


def _base(request: "GateRequest", repository: Repository) -> str:
    return repository.default_base() if request.base is None else request.base


def _options(request: "GateRequest") -> GateOptions:
    return GateOptions(margin=request.margin, strict=request.strict, busy_repeats=_MOST_BUSY)


def _check_plan(request: "GateRequest", stored: _Stored) -> None:
    """Raise WrongUse where the request asks for other looks or decisions than those that the runs so far were planned for."""
    kept = {
        "--budget": request.budget_s in (None, stored.budget_s),
        "--margin": request.margin == stored.options.margin,
        "--strict": request.strict == stored.options.strict,
        "--tolerate-load": request.tolerate_load == stored.tolerate_load,
    }
    for option, same in kept.items():
        if not same:
            raise WrongUse("gate.plan_kept", option=option)


def _plan(request: "GateRequest", sides: Sides, *, folder: RunFolder, progress: "ProgressSink") -> SandboxPlan:
    plan = plan_sandbox(
        project_root=sides.root,
        scratch=folder.path / "scratch",
        allow_network=request.allow_network,
        unsafe=request.unsafe_trials,
    )
    progress(say("tune.protected", plan=describe(plan)), None)
    return plan


def _observe(bench: Bench, sides: Sides, *, name: str, budget_s: float, progress: "ProgressSink") -> Baseline:
    """Look at one version for some steps. Raises the error of `observe_baseline`, with the version that it is about."""
    change = sides.base.change if name == BASE else sides.head.change
    progress(say("gate.phase_observe", side=say(f"gate.{name}")), None)
    try:
        found = observe_baseline(
            bench, budget_s=budget_s, cpus=read_machine().cpus, change=change, label=f"observe-{name}"
        )
    except ProgramFailed as error:
        raise ProgramFailed(
            "gate.side_failed",
            side=say(f"gate.{name}"),
            why=say(error.key, **error.values),
            program_output=error.program_output,
        ) from error
    except CouldNotMeasure as error:
        raise CouldNotMeasure(
            "gate.side_not_measured",
            side=say(f"gate.{name}"),
            why=say(error.key, **error.values),
            program_output=error.program_output,
        ) from error
    run = found.analysis.run
    bench.baseline_wall_s = max(bench.baseline_wall_s or 0.0, (run.ended_ns - run.started_ns) / 1e9)
    return found


def _per_step(ledger: Ledger | None) -> dict[Category, int]:
    if ledger is None:
        return {}
    return {name: round(ledger.categories_ns[name] / ledger.steps) for name in CATEGORIES}
