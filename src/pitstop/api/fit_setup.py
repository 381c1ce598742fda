"""What a fit has before its search: run folder, sandbox, the memory limit, and what one observed run says of loaders and sources."""

import resource
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pitstop.api.analysis import analyse
from pitstop.api.bench import Bench, error_tail
from pitstop.api.program import program_name, project_root, read_program
from pitstop.api.setup import read_sources
from pitstop.diagnose.loaders import loader_roles
from pitstop.errors import CouldNotMeasure, ProgramFailed, WrongUse
from pitstop.measure.cgroup import read_limits
from pitstop.measure.machine import read_machine
from pitstop.measure.probe_folder import ProbeConfig
from pitstop.measure.sandbox import SandboxPlan, describe, plan_sandbox
from pitstop.messages import say
from pitstop.records import CATEGORIES, Change, Evidence, Ledger, LoaderRoles, Program, Run, Steps
from pitstop.store import Journal, RunFolder, find_run, new_run_folder
from pitstop.treat import CannotEdit, View, decode_source
from pitstop.treat.accumulate import fitted_loader
from pitstop.tune.fit_reading import Limit, read_fit
from pitstop.tune.fit_search import Fit, FitOptions, Tried, Try, ladder

if TYPE_CHECKING:
    from pitstop.api.fit import FitRequest
    from pitstop.api.tune import ProgressSink

__all__ = ["OBSERVED_STEPS", "FitSetup", "resume_fit", "start_fit"]

OBSERVED_STEPS = 4  # the second step already holds all that memory of a step needs: gradients and the optimizer's state
_BUDGET_S = 600.0


class FitStored(msgspec.Struct, frozen=True, kw_only=True):
    """What the journal keeps of a fit's beginning."""

    program: Program
    root: str
    plan: SandboxPlan
    limit: Limit
    evidence: Evidence
    roles: LoaderRoles | None
    sources: dict[str, str]
    options: FitOptions
    first: Tried
    budget_s: float
    python: str | None
    torch: str | None


class FitSetup:
    """Everything that stays the same during one fit, but for the evidence: a program that dies early shows more of itself later."""

    def __init__(self, stored: FitStored, *, folder: RunFolder, journal: Journal, bench: Bench) -> None:
        self.stored, self.folder, self.journal, self.bench = stored, folder, journal, bench
        self.program, self.limit, self.options = stored.program, stored.limit, stored.options
        later = journal.get("evidence", Evidence)
        self.evidence = stored.evidence if later is None else later
        self.roles = journal.get("roles", LoaderRoles) or stored.roles

    @property
    def view(self) -> View:
        """What edits may look at; a program that has made no step has no ledger either."""
        return View(
            evidence=self.evidence,
            ledger=Ledger(wall_ns=0, steps=0, categories_ns=dict.fromkeys(CATEGORIES, 0)),
            steps=Steps(clock="optimizer", start_ns=0, ends_ns=(), samples=()),
            cpus=read_machine().cpus,
            sources=self.stored.sources,
            program=self.program,
            roles=self.roles,
        )

    def learn(self, run: Run) -> None:
        """Take in what a run that got further saw: modules, backward passes, loaders' roles. Loaders stay those of the unchanged source."""
        seen = run.evidence
        forwards = self.evidence.forwards or seen.forwards
        self.evidence = msgspec.structs.replace(
            self.evidence, forwards=seen.forwards or forwards, backwards=seen.backwards or self.evidence.backwards
        )
        self.roles = loader_roles(run.main.events) if run.main is not None else self.roles
        self.journal.put("evidence", self.evidence)
        if self.roles is not None:
            self.journal.put("roles", self.roles)


def start_fit(request: "FitRequest", *, progress: "ProgressSink") -> FitSetup:
    """Run the unchanged program once under the limit and see whether it fits. Raises PitstopError where nothing can be fitted."""
    program = read_program(list(request.command), cwd=request.cwd, asked="fit")
    limit = find_limit(request.memory_bytes)
    folder = new_run_folder(
        request.run_root or request.cwd, name=program_name(program), now=datetime.now().astimezone()
    )
    root = project_root(program)
    plan = plan_sandbox(
        project_root=root,
        scratch=folder.path / "scratch",
        allow_network=request.allow_network,
        unsafe=request.unsafe_trials,
    )
    progress(say("tune.protected", plan=describe(plan)), None)
    progress(say("tune.phase_baseline"), None)
    bench = _bench(program, root=root, folder=folder.path, plan=plan, limit=limit)
    budget_s = _BUDGET_S if request.budget_s is None else request.budget_s
    run, trial = bench.run(
        "own-batch",
        change=Change(),
        probe=ProbeConfig(mode="profile", project_root=str(root), stop_after_steps=OBSERVED_STEPS),
        timeout_s=budget_s / 2,
    )
    analysis = analyse(run)
    evidence = run.evidence
    sources = read_sources(analysis, root=root)
    view = View(
        evidence=evidence,
        ledger=Ledger(wall_ns=0, steps=0, categories_ns=dict.fromkeys(CATEGORIES, 0)),
        steps=Steps(clock="optimizer", start_ns=0, ends_ns=(), samples=()),
        cpus=1,
        sources=sources,
        program=program,
        roles=_roles(run),
    )
    own = _own_batch(view, run, error_tail(trial))
    first = read_fit(
        run, Try(batch=own, phase="finding"), limit=limit, samples_per_step=own, error_tail=error_tail(trial)
    )
    if first.outcome is Fit.FAILED:
        key = "tune.program_failed" if run.exit_code and first.detail else "tune.program_failed_silently"
        if not run.exit_code:
            raise CouldNotMeasure("tune.no_steps")
        raise ProgramFailed(key, exit_code=run.exit_code, last_line=first.detail, program_output=error_tail(trial))
    environment = evidence.environment
    stored = FitStored(
        program=program,
        root=str(root),
        plan=plan,
        limit=limit,
        evidence=evidence,
        roles=_roles(run),
        sources=sources,
        options=FitOptions(
            sizes=ladder(own, larger=request.larger),
            own=own,
            budget_ns=round(budget_s * 1e9),
            margin=request.margin,
            reference=limit.ours,
        ),
        first=first,
        budget_s=budget_s,
        python=environment.python if environment else None,
        torch=environment.torch if environment else None,
    )
    folder.write("run.json", msgspec.json.encode(run))
    journal = Journal.create(folder.path / "journal.sqlite")
    journal.put("fit", stored)
    journal.append(first)
    return FitSetup(stored, folder=folder, journal=journal, bench=bench)


def resume_fit(request: "FitRequest", *, progress: "ProgressSink") -> FitSetup:
    """Read back the newest unfinished fit of the same command. Raises WrongUse where there is none, or where sources changed."""
    runs = (request.run_root or request.cwd) / ".pitstop" / "runs"
    for path in sorted(runs.glob("*"), reverse=True) if runs.is_dir() else ():
        if not (path / "journal.sqlite").is_file() or (path / "fit.json").exists():
            continue
        journal = Journal.open(path / "journal.sqlite")
        stored = journal.get("fit", FitStored)
        if stored is None or stored.program.argv != request.command or stored.program.cwd != str(request.cwd):
            continue
        for source, text in stored.sources.items():
            if not Path(source).is_file() or decode_source(Path(source).read_bytes()) != text:
                raise WrongUse("tune.sources_changed", path=source)
        plan = plan_sandbox(
            project_root=Path(stored.root),
            scratch=path / "scratch",
            allow_network=request.allow_network,
            unsafe=request.unsafe_trials,
        )
        progress(say("tune.protected", plan=describe(plan)), None)
        bench = _bench(stored.program, root=Path(stored.root), folder=path, plan=plan, limit=stored.limit)
        folder = find_run(request.cwd, wanted=str(path))
        return FitSetup(stored, folder=folder, journal=journal, bench=bench)
    raise WrongUse("tune.no_journal")


def find_limit(memory_bytes: int | None) -> Limit:
    """Return the limit that trials run under: the one asked for, else that of `ulimit -v`, of the control group, or the machine's memory."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_AS)
    if memory_bytes is not None:
        own = memory_bytes if soft == resource.RLIM_INFINITY else min(memory_bytes, soft)
        return Limit(kind="address-space", num_bytes=own, ours=own == memory_bytes and soft == resource.RLIM_INFINITY)
    if soft != resource.RLIM_INFINITY:
        return Limit(kind="address-space", num_bytes=soft)
    group = read_limits().memory_bytes
    machine = read_machine()
    if group is not None:
        return Limit(kind="control-group", num_bytes=group)
    return Limit(kind="machine", num_bytes=machine.available_bytes)


def _bench(program: Program, *, root: Path, folder: Path, plan: SandboxPlan, limit: Limit) -> Bench:
    bench = Bench(program, root=root, folder=folder, plan=plan, tolerate_load=True)
    bench.address_space_bytes = limit.num_bytes if limit.ours else None
    return bench


def _roles(run: Run) -> LoaderRoles | None:
    """Return the loaders' roles where a backward tells them; a program that died before has shown none."""
    return loader_roles(run.main.events) if run.main is not None and run.evidence.backwards else None


def _own_batch(view: View, run: Run, tail: str) -> int:
    try:
        return fitted_loader(view).batch_size or 1
    except CannotEdit as error:
        last_line = tail.strip().splitlines()[-1] if tail.strip() else ""
        if run.exit_code and not view.evidence.loaders:
            raise ProgramFailed(
                "tune.program_failed", exit_code=run.exit_code, last_line=last_line, program_output=tail
            ) from error
        raise CouldNotMeasure("fit.nothing_to_fit", why=error.reason) from error
