"""`pitstop tune`: the story of one tune, from the user's command to the patch."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from pitstop.api.baseline import Baseline, measure_length
from pitstop.api.confirm import check_options, confirm_to_the_end
from pitstop.api.deliver import deliver
from pitstop.api.interventions import intervene, possible_interventions
from pitstop.api.numerics import NumericsBench
from pitstop.api.patched import measure_patched, slower_as_a_whole
from pitstop.api.setup import Setup, resume_setup, start_setup
from pitstop.messages import say
from pitstop.records import Change, Numerics, Proposal, Trial
from pitstop.records.results import Patched, TuneResult
from pitstop.report.numbers import ratio
from pitstop.treat import CannotEdit, build_change
from pitstop.tune.search import next_action, observe, replay
from pitstop.tune.search_actions import (
    CheckNumerics,
    Finish,
    Intervene,
    Length,
    Measure,
    MeasureLength,
    NumericsReport,
    Observation,
    SearchOptions,
)
from pitstop.tune.search_progress import Progress, describe

__all__ = ["ProgressSink", "TuneRequest", "tune_program"]


class ProgressSink(Protocol):
    """Where progress goes; the CLI draws it, tests drop it."""

    def __call__(self, line: str, progress: Progress | None) -> None:
        """Say what is being done now, and how far the search is."""
        ...


class TuneRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for. `budget_s`: None is ten minutes, or for `resume` what the tune began with."""

    command: tuple[str, ...]
    cwd: Path
    run_root: Path | None = None
    budget_s: float | None = None
    margin: float = 0.02
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    confirm: bool = False
    metric: str | None = None
    seed_option: str | None = None
    job_steps: int | None = None
    resume: bool = False
    more_memory: bool = False
    allow_network: bool = False
    unsafe_trials: bool = False
    tolerate_load: bool = False


# The search may spend this share of the budget; the rest measures the patched program by itself, unless proving one takes it.
_SEARCH_SHARE = 0.75


def tune_program(request: TuneRequest, *, progress: ProgressSink) -> TuneResult:
    """Observe, try, verify and deliver. Raises PitstopError where the program cannot be tuned; never touches its files."""
    began = time.monotonic()
    check_options(metric=request.metric, seed_option=request.seed_option)  # said before anything runs
    setup = resume_setup(request, progress=progress) if request.resume else start_setup(request, progress=progress)
    setup.bench.ends_s = began + setup.budget_s - setup.spent_before_s
    finish, options = _search(setup, request, progress=progress, began=began)
    change = _change(setup, finish.chosen)
    left_s = setup.budget_s - (time.monotonic() - began) - setup.spent_before_s
    if finish.chosen:
        progress(say("tune.phase_patched"), None)
    patched, why_not = measure_patched(setup.bench, change=change, finish=finish, left_s=left_s)
    # A job longer than this program (--job-steps, also that of the tune which is resumed) is judged by its steps.
    if options.length == setup.baseline.length and slower_as_a_whole(patched):
        finish, change, patched = _without_choice(finish, patched), Change(), None
    confirmed = None
    if request.confirm and finish.chosen:
        confirmed = confirm_to_the_end(
            setup.bench, change=change, metric=request.metric, seed_option=request.seed_option
        )
    progress(say("tune.phase_finish"), None)
    return deliver(
        setup,
        finish=finish,
        change=change,
        patched=patched,
        confirmed=confirmed,
        not_measured=why_not,
        wall_s=time.monotonic() - began + setup.spent_before_s,
        margin=options.margin,
    )


def _without_choice(finish: Finish, patched: Patched) -> Finish:
    """Return the end with nothing handed over, since the whole program is slower with what was chosen."""
    reason = say("tune.whole_slower", steps=ratio(finish.speedup, finish.ci), whole=ratio(patched.speedup, patched.ci))
    nothing = {"chosen": (), "speedup": 1.0, "ci": None, "pairs": 0, "numerics": Numerics.EXACT, "gates": ()}
    return msgspec.structs.replace(finish, **nothing, reason=reason)


def search_options(request: TuneRequest, *, baseline: Baseline, budget_s: float, spent_s: float) -> SearchOptions:
    """Return the search's options for `request`, `spent_s` of whose budget the observation has already cost."""
    length = baseline.length
    if request.job_steps is not None:
        length = Length(steps=max(request.job_steps, length.steps), ended=True)
    options = SearchOptions(
        margin=request.margin,
        budget_ns=round(max(1.0, budget_s * _SEARCH_SHARE - spent_s) * 1e9),
        reserve_ns=round(budget_s * (1 - _SEARCH_SHARE) * 1e9),
        warm_steps=baseline.window.first,
        length=length,
    )
    if request.more_memory:
        options = msgspec.structs.replace(options, memory_bytes=1 << 62, device_memory_share=float("inf"))
    return options


def _search(
    setup: Setup, request: TuneRequest, *, progress: ProgressSink, began: float
) -> tuple[Finish, SearchOptions]:
    """Let the search say what to do until it has finished; every observation is in the journal before the next begins.

    Returns the end, and the options that it kept to: a resumed tune has those with which it began.
    """
    spent_s = time.monotonic() - began
    wanted = search_options(request, baseline=setup.baseline, budget_s=setup.budget_s, spent_s=spent_s)
    options = setup.options(msgspec.structs.replace(wanted, interventions=possible_interventions(setup)))
    search = replay(setup.proposals, setup.journal.observations(Observation), options=options)
    numerics = NumericsBench(setup.bench, baseline=setup.baseline)
    performers: Mapping[type, Callable[..., Observation]] = {
        Measure: lambda action: _measure(setup, action),
        CheckNumerics: lambda action: _check(setup, numerics, action),
        Intervene: lambda action: intervene(setup, action),
        MeasureLength: lambda action: measure_length(setup.bench, baseline=setup.baseline, steps=action.steps),
    }
    while not isinstance(action := next_action(search), Finish):
        progress(_describe_action(action), describe(search))
        observation = performers[type(action)](action)
        setup.journal.append(observation)
        search = observe(search, observation)
    return action, options


def _describe_action(action: Measure | CheckNumerics | MeasureLength | Intervene) -> str:
    if isinstance(action, Intervene):
        return say(f"tune.phase_{action.what}")
    if isinstance(action, MeasureLength):
        return say("tune.phase_length", steps=action.steps)
    name = " + ".join(action.proposals) or say("tune.baseline_is")
    if isinstance(action, CheckNumerics):
        return say("tune.phase_numerics", name=name)
    return say(f"tune.phase_{action.purpose}", name=name)


def _measure(setup: Setup, action: Measure) -> Trial:
    chosen = setup.chosen(action.proposals)
    try:
        change = _change(setup, action.proposals)
    except CannotEdit as error:
        return setup.could_not_act(action.proposals, reason=error.reason)
    return setup.bench.trial(
        action.proposals,
        change=change,
        window=setup.baseline.window,
        stop_after=setup.baseline.stop_after,
        must_compile=any(proposal.compiles for proposal in chosen),
    )


def _check(setup: Setup, numerics: NumericsBench, action: CheckNumerics) -> NumericsReport:
    return numerics.check(
        action.proposals,
        change=_change(setup, action.proposals),
        classes=frozenset(proposal.numerics for proposal in setup.chosen(action.proposals)),
    )


def _change(setup: Setup, names: tuple[str, ...]) -> Change:
    chosen: tuple[Proposal, ...] = setup.chosen(names)
    return build_change(chosen, setup.view) if chosen else Change()
