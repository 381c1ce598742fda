"""A gate from its first timing run to its result, on a simulated clock: when it ends, what it says, how it goes on."""

import math
import subprocess
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from pitstop.api import gate as gate_story
from pitstop.api import gate_setup
from pitstop.api.gate import GateRequest, run_gate
from pitstop.api.gate_setup import GateSetup, resume_gate
from pitstop.api.gate_sides import Side, Sides, fingerprint, make_sides
from pitstop.errors import CouldNotMeasure, ProgramFailed, WrongUse
from pitstop.measure.git import find_repository
from pitstop.measure.sandbox import SandboxPlan
from pitstop.records import Change, Program, Trial, TrialOutcome
from pitstop.store import Journal, RunFolder
from pitstop.tune.gate_search import HEAD, GateOptions
from pitstop.tune.window import Window

RUN_S = 6.0
OBSERVING_S = 20.0
IDENTITY = ("-c", "user.name=ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false")


class Interrupted(BaseException):
    """Ctrl-C."""


class World:
    """A machine whose clock only runs while a version does."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, budget_s: float, options: GateOptions) -> None:
        self.now_s = 1000.0
        self.folder = folder
        self.options = options
        self.budget_s = budget_s
        self.slowdown, self.sd, self.memory = 1.0, 0.004, 1.0
        self.outcomes: dict[int, TrialOutcome | type[BaseException]] = {}
        self.always: TrialOutcome | None = None
        self.runs = 0
        self.seen = []
        self._noise = np.random.default_rng(3)
        monkeypatch.setattr(gate_story, "time", SimpleNamespace(monotonic=lambda: self.now_s))
        monkeypatch.setattr(gate_story, "start_gate", lambda _request, progress: self.started(new=True))
        monkeypatch.setattr(gate_story, "resume_gate", lambda _request, progress: self.started(new=False))

    def started(self, *, new: bool) -> GateSetup:
        path = self.folder / "journal.sqlite"
        journal = Journal.create(path) if new else Journal.open(path)
        if new:
            self.now_s += OBSERVING_S
            journal.put("gate", stored(self.options, budget_s=self.budget_s, spent_s=OBSERVING_S))
        kept = journal.get("gate", gate_setup._Stored)
        one = Side(commit="0" * 40, title="Train", change=Change())
        sides = Sides(
            root=self.folder, base=one, head=msgspec.structs.replace(one, commit=None), differing=("a",), caveats=()
        )
        plan = SandboxPlan(kind="copy", scratch=str(self.folder))
        setup = GateSetup(kept, sides=sides, plan=plan, folder=RunFolder(path=self.folder), journal=journal)
        setup.bench = SimpleNamespace(trial=self.trial, ends_s=None)
        return setup

    def trial(self, proposals, **_options) -> Trial:
        number, self.runs = self.runs, self.runs + 1
        self.now_s += RUN_S
        outcome = self.always or self.outcomes.get(number, TrialOutcome.MEASURED)
        if not isinstance(outcome, TrialOutcome):
            raise outcome
        factor = self.slowdown if proposals == (HEAD,) else 1.0
        return Trial(
            proposals=proposals,
            outcome=outcome,
            window_ns=round(1e9 * factor * math.exp(self._noise.normal(0, self.sd))),
            window_steps=100,
            peak_bytes=round((1 << 30) * (self.memory if proposals == (HEAD,) else 1.0)) + number,
            wall_ns=round(RUN_S * 1e9),
            detail="no space left" if outcome is TrialOutcome.CRASHED else "",
        )

    def gate(self, **options):
        request = GateRequest(
            command=("python", "train.py"),
            cwd=self.folder,
            margin=self.options.margin,
            strict=self.options.strict,
            **options,
        )
        return run_gate(request, progress=lambda line, state: self.seen.append((line, state)))


def stored(options: GateOptions, *, budget_s: float = 300.0, spent_s: float = 0.0, **changes) -> gate_setup._Stored:
    kept = gate_setup._Stored(
        program=Program(argv=("python", "train.py"), cwd="/p"),
        versions="",
        options=options,
        tolerate_load=False,
        window=Window(first=10, steps=100, whole_epochs=False),
        stop_after=110,
        ledgers_ns={"base": {}, "head": {}},
        run_s=RUN_S,
        seed=None,
        budget_s=budget_s,
        spent_s=spent_s,
    )
    return msgspec.structs.replace(kept, **changes)


@pytest.fixture
def world(tmp_path, monkeypatch):
    def make(*, budget_s: float = 300.0, strict: bool = False, name: str = "run") -> World:
        (tmp_path / name).mkdir()
        options = GateOptions(strict=strict, busy_repeats=1000)
        return World(tmp_path / name, monkeypatch, budget_s=budget_s, options=options)

    return make


def test_a_clear_slowdown_ends_it_at_an_early_look_and_fails(world):
    here = world()
    here.slowdown = 1.3
    result = here.gate()
    assert (result.verdict, result.passed) == ("slower", False)
    assert result.trials == 2 * result.pairs < 24
    assert result.wall_s == OBSERVING_S + RUN_S * result.trials
    assert (here.folder / "gate.json").is_file()


def test_it_ends_within_its_budget_whatever_the_noise(world):
    here = world(strict=True)
    here.sd = 0.1
    result = here.gate()
    assert (result.verdict, result.passed) == ("undecided", False)
    assert result.detectable > 1.03
    assert 250 < result.wall_s <= 300


def test_undecided_passes_unless_it_is_strict(world):
    here = world()
    here.sd = 0.1
    assert here.gate().passed


def test_the_expected_time_falls_with_every_run_and_never_exceeds_the_budget(world):
    here = world(strict=True)
    here.sd = 0.1
    here.gate()
    states = [state for _line, state in here.seen if state.eta_ns is not None]
    assert len(states) > 10
    etas = [state.eta_ns for state in states]
    assert etas == sorted(etas, reverse=True)
    assert all(state.eta_ns + state.spent_ns <= 300e9 for state in states)
    assert all(state.done < state.expected for state in states)


def test_a_machine_that_stays_busy_is_no_verdict(world):
    here = world()
    here.always = TrialOutcome.BUSY
    with pytest.raises(CouldNotMeasure) as error:
        here.gate()
    assert error.value.key == "gate.busy"
    assert error.value.values["invalid"] == here.runs
    assert here.now_s <= 1300


def test_a_budget_that_is_named_as_enough_is_enough(world):
    here = world(budget_s=40)
    with pytest.raises(CouldNotMeasure) as error:
        here.gate()
    assert error.value.key == "gate.too_little_time"
    assert error.value.values["needed"] == "1 min 7 s"
    enough = world(budget_s=67, name="again")
    assert enough.gate().pairs >= 3


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [(TrialOutcome.CRASHED, ProgramFailed), (TrialOutcome.NOT_CONNECTED, CouldNotMeasure)],
)
def test_a_version_that_fails_in_the_middle_is_named_and_tried_again_when_it_goes_on(world, outcome, kind):
    here = world()
    here.outcomes = {5: outcome}
    with pytest.raises(kind) as error:
        here.gate()
    assert error.value.values["side"] == "head"
    assert not (here.folder / "gate.json").exists()
    assert here.gate(resume=True).trials == here.runs - 1


def test_memory_above_its_margin_fails_a_head_that_is_as_fast(world):
    here = world()
    here.memory = 1.3
    result = here.gate()
    assert result.verdict == "equivalent"
    assert [one.worse for one in result.memory] == [True]
    assert not result.passed
    more = world(name="more")
    more.memory = 1.3
    assert more.gate(memory_margin=0.5).passed


@pytest.mark.parametrize("after", [0, 1, 2, 5])
def test_an_interrupted_gate_goes_on_to_the_result_of_one_that_was_not(world, after):
    whole = world(strict=True)
    whole.sd = 0.02
    expected = whole.gate()
    here = world(strict=True, name="interrupted")
    here.sd = 0.02
    here.outcomes = {after: Interrupted}
    with pytest.raises(Interrupted):
        here.gate()
    here.now_s += 86_400  # the next day
    result = here.gate(resume=True)
    same = ("verdict", "speedup", "ci", "pairs", "passed", "trials")
    assert {name: getattr(result, name) for name in same} == {name: getattr(expected, name) for name in same}
    assert result.wall_s == expected.wall_s, "the run that was lost is not counted, nor the night"


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *IDENTITY, *arguments], check=True, capture_output=True)


@pytest.fixture
def unfinished(tmp_path, monkeypatch):
    """A repository with a gate in it that was interrupted before its first timing run."""
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "train.py").write_text("print('base')\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Train")
    (root / "train.py").write_text("print('head')\n")
    folder = root / ".pitstop" / "runs" / "20261201-120000-gate-train"
    folder.mkdir(parents=True)
    (root / ".pitstop" / ".gitignore").write_text("*\n")
    sides = make_sides(find_repository(root), base="main", head=None, folder=folder / "versions")
    kept = stored(
        GateOptions(busy_repeats=1000),
        program=Program(argv=("python", "train.py"), cwd=str(root)),
        versions=fingerprint(sides),
    )
    Journal.create(folder / "journal.sqlite").put("gate", kept)
    monkeypatch.setattr(gate_setup, "plan_sandbox", lambda **_options: SandboxPlan(kind="copy", scratch=str(folder)))
    return GateRequest(command=("python", "train.py"), cwd=root, resume=True), root


def resumed(request: GateRequest, **changes) -> GateSetup:
    return resume_gate(msgspec.structs.replace(request, **changes), progress=lambda _line, _state: None)


def test_the_versions_that_were_begun_with_are_found_again(unfinished):
    request, _root = unfinished
    setup = resumed(request)
    (place,) = setup.sides.base.change.laid
    assert Path(setup.sides.base.change.laid[place]).read_text() == "print('base')\n"
    assert setup.budget_s == 300


def test_a_version_that_has_changed_is_refused(unfinished):
    request, root = unfinished
    (root / "train.py").write_text("print('other')\n")
    with pytest.raises(WrongUse) as error:
        resumed(request)
    assert error.value.key == "gate.versions_changed"


@pytest.mark.parametrize(
    ("changes", "option"),
    [({"budget_s": 600.0}, "--budget"), ({"margin": 0.01}, "--margin"), ({"strict": True}, "--strict")],
)
def test_another_plan_is_refused_since_looks_are_not_chosen_by_what_was_seen(unfinished, changes, option):
    request, _root = unfinished
    with pytest.raises(WrongUse) as error:
        resumed(request, **changes)
    assert error.value.values["option"] == option


def test_another_command_has_no_gate_to_go_on_with(unfinished):
    request, _root = unfinished
    with pytest.raises(WrongUse) as error:
        resumed(request, command=("python", "other.py"))
    assert error.value.key == "gate.no_journal"
