"""The first trial: the unchanged program, fully observed, and what follows from it for all later trials."""

import math
from collections import Counter
from pathlib import Path

import msgspec

from pitstop.api.analysis import Analysis, analyse
from pitstop.api.bench import Bench, error_tail
from pitstop.diagnose.steps import find_steps
from pitstop.errors import CouldNotMeasure, ProgramFailed
from pitstop.measure.probe_folder import ProbeConfig
from pitstop.records import Change, EventKind, Run, Steps
from pitstop.tune.reading import out_of_memory
from pitstop.tune.search_actions import Length
from pitstop.tune.window import MIN_STEPS, Window, plan_window

__all__ = ["Baseline", "observe_baseline"]

_SAMPLE_HZ = 50
# The observed run ends after this much training: enough for an epoch edge in short epochs, and for stack samples. Slow steps are
# few: a dozen tells where their time goes.
_OBSERVE_NS = 8_000_000_000
_OBSERVE_STEPS = 12
# Shares of the budget: until the first step there must be, and what one timing window may take.
_START_SHARE = 0.5
_WINDOW_SHARE = 1 / 100
_LENGTH_SLACK = 1.5  # a run for the program's length may take so much longer than steps like those observed
_WINDOW_NS = (3_000_000_000, 20_000_000_000)
_UNCHANGED = Change()


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The observed run of the unchanged program and the window of the trials to come."""

    analysis: Analysis
    window: Window
    stop_after: int  # the window's end in the probe's own count of steps, which follows the first optimizer
    ends_by_itself: bool  # the program ended before it was stopped

    @property
    def length(self) -> Length:
        """How many steps the program is known to make."""
        seen = self.analysis.steps.count if self.analysis.steps is not None else 0
        return Length(steps=max(seen, self.window.stop_after), ended=self.ends_by_itself)


def observe_baseline(
    bench: Bench, *, budget_s: float, cpus: int, change: Change = _UNCHANGED, label: str = "baseline"
) -> Baseline:
    """Run the program in the sandbox, unchanged or in another version of it, stopped after some steps.

    Raises ProgramFailed where it fails by itself, CouldNotMeasure where no speed can be told from it.
    """
    config = ProbeConfig(
        mode="profile",
        sample_hz=_SAMPLE_HZ,
        project_root=str(bench.root),
        stop_after_ns=_OBSERVE_NS,
        stop_min_steps=_OBSERVE_STEPS,
    )
    layers = bench.folder / "layers"
    run, folder = bench.run(label, change=change, probe=config, timeout_s=budget_s * _START_SHARE, keep_layers=layers)
    analysis = analyse(run)
    if analysis.steps is not None and layers.is_dir():
        bench.take_seed(layers, before_ns=analysis.steps.start_ns)
    steps = _usable_steps(run, folder, analysis=analysis, waited_s=budget_s * _START_SHARE)
    stopped = run.end is not None and run.end.reason == "stopped"
    window = plan_window(
        step_ns=max(1.0, steps.steady_mean_ns),
        steps_per_epoch=analysis.epoch_steps,
        available_steps=None if stopped or run.timed_out else steps.count,
        wanted_ns=min(max(budget_s * 1e9 * _WINDOW_SHARE, _WINDOW_NS[0]), _WINDOW_NS[1]),
        prefetched_steps=2 * (cpus + 1),
    )
    if window is None:
        raise CouldNotMeasure("tune.too_few_steps", steps=steps.count, needed=MIN_STEPS)
    return Baseline(
        analysis=analysis,
        window=window,
        stop_after=_in_probe_steps(analysis, window.stop_after),
        ends_by_itself=not stopped and not run.timed_out,
    )


def measure_length(bench: Bench, *, baseline: Baseline, steps: int) -> Length:
    """Run the unchanged program until it has made `steps` steps, or to its own end before; a run that fails says nothing of its end."""
    observed = baseline.analysis
    step_s = (observed.steps.steady_mean_ns if observed.steps else 0.0) / 1e9
    config = ProbeConfig(mode="clock", stop_after_steps=_in_probe_steps(observed, steps), project_root=str(bench.root))
    run, _folder = bench.run(
        "length",
        change=Change(),
        probe=config,
        timeout_s=_LENGTH_SLACK * ((bench.baseline_wall_s or 0.0) + steps * step_s),
    )
    counted = find_steps(run.main.events if run.main else ())
    stopped = run.end is not None and run.end.reason == "stopped"
    return Length(
        steps=counted.count if counted else 0,
        ended=not (stopped or run.timed_out or run.exit_code),
        wall_ns=run.ended_ns - run.started_ns,
    )


def _usable_steps(run: Run, folder: Path, *, analysis: Analysis, waited_s: float) -> Steps:
    """Return the steps of a run that can be compared with others, or raise what was wrong with it."""
    tail = error_tail(folder)
    last_line = tail.strip().splitlines()[-1] if tail.strip() else ""
    if run.over_memory or (run.exit_code and out_of_memory(tail)):
        raise ProgramFailed("tune.out_of_memory", last_line=last_line, program_output=tail)
    if run.exit_code and not run.timed_out and not last_line:
        raise ProgramFailed("tune.program_failed_silently", exit_code=run.exit_code)
    if run.exit_code and not run.timed_out:
        raise ProgramFailed("tune.program_failed", exit_code=run.exit_code, last_line=last_line, program_output=tail)
    if analysis.steps is not None:
        if run.end is not None and run.end.loss_finite is False:
            raise CouldNotMeasure("tune.not_finite")
        return analysis.steps
    if not run.connected:
        raise CouldNotMeasure("tune.not_connected")
    if run.timed_out:
        raise CouldNotMeasure("tune.program_hung", seconds=waited_s, program_output=tail)
    if run.evidence.environment is None and run.end is None:  # the probe writes an end where torch was imported
        raise CouldNotMeasure("tune.no_torch")
    counted = len(run.main.events) if run.main else 0
    key = "tune.no_steps" if not counted else "tune.too_few_steps"
    raise CouldNotMeasure(key, steps=0 if not counted else 1, needed=MIN_STEPS)


def _in_probe_steps(analysis: Analysis, steps: int) -> int:
    """Translate steps of the loop into the probe's own, which counts the first optimizer (or module) seen while it runs."""
    main, end = analysis.run.main, analysis.run.end
    if analysis.steps is None or analysis.steps.clock not in ("optimizer", "forward") or main is None:
        return steps
    if end is not None and end.steps:
        return math.ceil(steps * end.steps / analysis.steps.count) + 1
    if analysis.steps.clock == "forward":
        return steps
    first = next(event.arg for event in main.events if event.kind is EventKind.OPTIMIZER)
    counts = Counter(event.arg for event in main.events if event.kind is EventKind.OPTIMIZER)
    return math.ceil(steps * counts[first] / analysis.steps.count) + 1
