"""What a tune has before its first trial: run folder, sandbox, observed baseline, proposals; made anew or read back."""

import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pitstop.api.analysis import Analysis, profile_result
from pitstop.api.baseline import Baseline, observe_baseline
from pitstop.api.bench import Bench
from pitstop.api.program import program_name, project_root, read_program
from pitstop.diagnose.loaders import loader_roles
from pitstop.errors import WrongUse
from pitstop.measure.machine import read_machine
from pitstop.measure.sandbox import SandboxPlan, describe, plan_sandbox
from pitstop.messages import say
from pitstop.records import CannotApply, Program, Proposal, Run, Trial, TrialOutcome
from pitstop.records.results import ProfileResult
from pitstop.store import Journal, RunFolder, find_run, new_run_folder
from pitstop.treat import TREATMENTS, View, decode_source, propose_all
from pitstop.tune.search_actions import Observation, SearchOptions

if TYPE_CHECKING:
    from pitstop.api.tune import ProgressSink, TuneRequest

__all__ = ["Setup", "resume_setup", "start_setup"]

_BUDGET_S = 600.0


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    """What the journal keeps of a setup, so that `--resume` goes on exactly where it was."""

    program: Program
    root: str
    plan: SandboxPlan
    baseline: Baseline
    profile: ProfileResult
    proposals: tuple[Proposal, ...]
    cannot_apply: tuple[CannotApply, ...]
    sources: dict[str, str]
    cpus: int
    seed: str | None
    tolerate_load: bool
    budget_s: float = _BUDGET_S


class Setup:
    """Everything that stays the same during one tune."""

    def __init__(self, stored: _Stored, *, folder: RunFolder, journal: Journal, spent_before_s: float = 0.0) -> None:
        self.folder = folder
        self.journal = journal
        self.baseline = stored.baseline
        self.profile = stored.profile
        self.proposals = stored.proposals
        self.cannot_apply = stored.cannot_apply
        self.sources = stored.sources
        self.program = stored.program
        self.root = Path(stored.root)
        self.plan = stored.plan
        self.spent_before_s = spent_before_s
        self.budget_s = stored.budget_s
        self.tolerate_load = stored.tolerate_load
        self.bench = Bench(
            stored.program, root=self.root, folder=folder.path, plan=stored.plan, tolerate_load=stored.tolerate_load
        )
        run = stored.baseline.analysis.run
        self.bench.baseline_wall_s = (_last_sign_ns(run) - run.started_ns) / 1e9
        self.bench.seed = Path(stored.seed) if stored.seed else None
        self.view = view_of(stored.baseline.analysis, program=stored.program, sources=stored.sources, cpus=stored.cpus)

    def chosen(self, names: tuple[str, ...]) -> tuple[Proposal, ...]:
        """Return the proposals of these names."""
        return tuple(proposal for proposal in self.proposals if proposal.name in names)

    def options(self, wanted: SearchOptions) -> SearchOptions:
        """Return the options with which this tune began; `wanted` at its beginning."""
        stored = self.journal.get("options", SearchOptions)
        if stored is None:
            self.journal.put("options", wanted)
        return stored or wanted

    def baseline_step_ns(self) -> float | None:
        """Return the mean wall time of a step over the baselines measured so far, None before the first."""
        seen = [
            one.ns_per_step
            for one in self.journal.observations(Observation)
            if isinstance(one, Trial) and not one.proposals and one.outcome is TrialOutcome.MEASURED and one.ns_per_step
        ]
        return sum(seen) / len(seen) if seen else None

    def could_not_act(self, names: tuple[str, ...], *, reason: str) -> Trial:
        """Return the trial of an edit that could not be written."""
        return Trial(proposals=names, outcome=TrialOutcome.COULD_NOT_ACT, detail=reason)


def start_setup(request: "TuneRequest", *, progress: "ProgressSink") -> Setup:
    """Check the request, choose the sandbox, observe the program, and collect proposals."""
    program = read_program(list(request.command), cwd=request.cwd, asked="tune")
    _check_names(request)
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
    bench = Bench(program, root=root, folder=folder.path, plan=plan)
    began = time.monotonic()
    cpus = read_machine().cpus
    budget_s = _BUDGET_S if request.budget_s is None else request.budget_s
    baseline = observe_baseline(bench, budget_s=budget_s, cpus=cpus)
    sources = read_sources(baseline.analysis, root=root)
    view = view_of(baseline.analysis, program=program, sources=sources, cpus=cpus)
    proposals, refused = propose_all(view)
    refused_names = {proposal.treatment for proposal in proposals if not _wanted(proposal.treatment, request)}
    stored = _Stored(
        program=program,
        root=str(root),
        plan=plan,
        baseline=baseline,
        profile=profile_result(baseline.analysis, run_folder=str(folder.path), wall_s=time.monotonic() - began),
        proposals=tuple(proposal for proposal in proposals if proposal.treatment not in refused_names),
        cannot_apply=(
            *refused,
            *(CannotApply(treatment=name, reason=say("tune.skipped")) for name in sorted(refused_names)),
        ),
        sources=sources,
        cpus=cpus,
        seed=str(bench.seed) if bench.seed else None,
        tolerate_load=request.tolerate_load,
        budget_s=budget_s,
    )
    folder.write("run.json", msgspec.json.encode(baseline.analysis.run))
    journal = Journal.create(folder.path / "journal.sqlite")
    journal.put("setup", stored)
    return Setup(stored, folder=folder, journal=journal)


def resume_setup(request: "TuneRequest", *, progress: "ProgressSink") -> Setup:
    """Read back the newest unfinished tune of the same command. Raises WrongUse where there is none, or where sources changed."""
    runs = (request.run_root or request.cwd) / ".pitstop" / "runs"
    for path in sorted(runs.glob("*"), reverse=True) if runs.is_dir() else ():
        if not (path / "journal.sqlite").is_file() or (path / "tune.json").exists():
            continue
        journal = Journal.open(path / "journal.sqlite")
        stored = journal.get("setup", _Stored)
        if stored is None or stored.program.argv != request.command or stored.program.cwd != str(request.cwd):
            continue
        if request.budget_s not in (None, stored.budget_s):
            raise WrongUse("tune.budget_kept", budget=stored.budget_s)
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
        spent_s = sum(observation.wall_ns for observation in journal.observations(_Cost)) / 1e9
        folder = find_run(request.cwd, wanted=str(path))
        return Setup(msgspec.structs.replace(stored, plan=plan), folder=folder, journal=journal, spent_before_s=spent_s)
    raise WrongUse("tune.no_journal")


def _last_sign_ns(run: Run) -> int:
    """Return when the run ended, or, where it hung, when it did something for the last time."""
    if not run.timed_out or run.main is None:
        return run.ended_ns
    return max((event.end_ns for event in run.main.events), default=run.ended_ns)


class _Cost(msgspec.Struct, frozen=True):
    """The one field that every observation has."""

    wall_ns: int = 0


def view_of(analysis: Analysis, *, program: Program, sources: dict[str, str], cpus: int) -> View:
    """Return what treatments may look at."""
    if analysis.steps is None or analysis.ledger is None:
        raise ValueError("a run without steps has nothing to treat")
    main, environment = analysis.run.main, analysis.run.evidence.environment
    ranks = environment.ranks if environment is not None else 1
    return View(
        evidence=analysis.run.evidence,
        ledger=analysis.ledger,
        steps=analysis.steps,
        cpus=max(1, cpus // ranks),  # each rank's share
        sources=sources,
        program=program,
        roles=loader_roles(main.events) if main is not None else None,
    )


def read_sources(analysis: Analysis, *, root: Path) -> dict[str, str]:
    """Return the texts of the user's files that the probe saw in a stack, and of the main script; only those below `root`."""
    evidence = analysis.run.evidence
    stacks = [sighting.stack for sighting in evidence.loaders]
    stacks += [sighting.stack for sighting in evidence.optimizers]
    stacks += [sighting.stack for sighting in evidence.forwards]
    stacks += [sighting.stack for sighting in evidence.backwards]
    stacks += [sighting.stack for sighting in evidence.anomalies]
    stacks += [sighting.stack for sighting in evidence.settings]
    paths = {site.path for stack in stacks for site in stack}
    if evidence.environment is not None and evidence.environment.script:
        paths.add(evidence.environment.script)
    sources = {}
    for path in sorted(paths):
        file = Path(path)
        if file.suffix == ".py" and file.is_relative_to(root) and file.is_file():
            text = decode_source(file.read_bytes())
            if text is not None:
                sources[path] = text
    return sources


def _check_names(request: "TuneRequest") -> None:
    known = [treatment.name for treatment in TREATMENTS]
    for name in request.only + request.skip:
        if name not in known:
            raise WrongUse("tune.unknown_treatment", name=name, known=", ".join(known))
    if not any(_wanted(name, request) for name in known):
        raise WrongUse("tune.nothing_wanted", known=", ".join(known))


def _wanted(treatment: str, request: "TuneRequest") -> bool:
    return treatment not in request.skip and (not request.only or treatment in request.only)
