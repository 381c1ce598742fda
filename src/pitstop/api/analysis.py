"""From a Run to what is known about it: steps, ledger, findings, and the ProfileResult that reports show."""

import statistics
from collections import Counter
from collections.abc import Sequence

import msgspec

from pitstop.api.utilisation import utilisation
from pitstop.diagnose.account import Span, account, host_spans_of, median_by_step, spans_of
from pitstop.diagnose.device_time import DeviceWork, busy_share, device_work
from pitstop.diagnose.enough import LEAST_STEPS, LEAST_WALL_NS, is_enough
from pitstop.diagnose.findings import find_faults
from pitstop.diagnose.loaders import training_loaders
from pitstop.diagnose.pauses import find_pauses, is_inside
from pitstop.diagnose.periodic import find_periodic
from pitstop.diagnose.pipeline import describe_pipelines
from pitstop.diagnose.rules.contract import Ending
from pitstop.diagnose.steps import find_steps, steps_per_epoch
from pitstop.diagnose.timeline import ledger_timeline
from pitstop.measure.machine import fingerprint, read_machine
from pitstop.messages import say
from pitstop.records import CATEGORIES, GAP_CATEGORIES, Category, Event, Ledger, Run, Steps
from pitstop.records.results import (
    SCHEMA,
    BaselineMemory,
    EnvironmentResult,
    Finding,
    NotMeasured,
    Overhead,
    ProfileResult,
    ProgramResult,
    RankResult,
    Shadow,
    StepStatistics,
)
from pitstop.report import numbers
from pitstop.stats.percentiles import percentile
from pitstop.tune.reading import out_of_memory

__all__ = ["Analysis", "analyse", "profile_result"]

_HOT_PLACES = 8
# Five samples that agree show, at 95 % confidence, that more than half of what they were taken from is theirs (0.55 ** 5 = 0.05).
_FEWEST_SAMPLES = 5
_MUCH_UNKNOWN = 0.05  # from here on it is said why
_GAPS: frozenset[Category] = frozenset({"python", *GAP_CATEGORIES.values()})  # what is outside of all events


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """What a run says about itself. `steps` and `ledger` are None where no steps were found."""

    run: Run
    steps: Steps | None
    ledger: Ledger | None
    train_loaders: frozenset[int]
    epoch_steps: int | None
    spans: tuple[Span, ...] = ()  # of `spans_of`, made once
    host_ledger: Ledger | None = None  # beside `ledger` where that is the device's
    device_busy: float | None = None  # share of the steady time, 0 to 1


def analyse(run: Run) -> Analysis:
    """Find the steps of `run` and account for their time."""
    main = run.main
    events = main.events if main is not None else ()
    steps = find_steps(events, evidence=run.evidence)
    if steps is None or steps.count - steps.warmup < 1:
        return Analysis(run=run, steps=None, ledger=None, train_loaders=frozenset(), epoch_steps=None)
    loaders = training_loaders(events)
    spans, gaps = spans_of(events, steps), _gap_shares(run)
    ledger = account(events, steps, spans=spans, gap_shares=gaps)
    work = device_work(events)
    return Analysis(
        run=run,
        steps=steps,
        ledger=ledger,
        host_ledger=account(events, steps, spans=host_spans_of(events, steps), gap_shares=gaps) if work else None,
        device_busy=_device_busy(work, events, steps) if work else None,
        train_loaders=loaders,
        epoch_steps=steps_per_epoch(steps, run.evidence, loaders),
        spans=tuple(spans),
    )


def profile_result(analysis: Analysis, *, run_folder: str | None, wall_s: float) -> ProfileResult:
    """Return the value behind every report of one run."""
    run, ledger, steps = analysis.run, analysis.ledger, analysis.steps
    environment = run.evidence.environment
    error = run.end.error if run.end else None
    not_measured = _not_measured(analysis)
    shares = _shares(ledger)
    return ProfileResult(
        schema=SCHEMA,
        program=ProgramResult(
            command=run.program.argv,
            cwd=run.program.cwd,
            exit_code=run.exit_code,
            python=environment.python if environment else None,
            torch=environment.torch if environment else None,
            error=error,
            out_of_memory=_out_of_memory(run) is not None,
        ),
        steps=_step_statistics(analysis),
        memory=BaselineMemory(
            peak_rss_bytes=run.usage.peak_rss_bytes,
            peak_pss_bytes=run.usage.peak_pss_bytes,
            peak_device_bytes=run.end.peak_device_bytes if run.end else None,
        ),
        utilisation=utilisation(run, steps),
        ledger=shares,
        host_ledger=_shares(analysis.host_ledger) if analysis.host_ledger else None,
        ledger_median_ns=median_by_step(analysis.spans, run.main.events, steps) if steps and run.main else {},
        device_busy=analysis.device_busy,
        findings=_findings(analysis),
        not_measured=tuple(not_measured),
        overhead=Overhead(per_step_ns=None, share=None),  # see _not_measured
        step_times_ns=_step_times(steps) if steps else (),
        periodic=find_periodic(run.main.events, steps, stack_samples=run.stack_samples, spans=analysis.spans)
        if steps and run.main
        else (),
        hot=_hot(run, ledger),
        pipeline=describe_pipelines(run.evidence, analysis.train_loaders, run.stack_samples),
        run_folder=run_folder,
        wall_s=wall_s,
        ledger_timeline=ledger_timeline(run.main.events, steps, gap_shares=_gap_shares(run), spans=analysis.spans)
        if steps and run.main
        else (),
        environment=_environment(run),
        ranks=_ranks(run),
    )


def _shares(ledger: Ledger | None) -> dict[Category, float]:
    return {category: ledger.share(category) for category in CATEGORIES} if ledger else {}


def _device_busy(work: Sequence[DeviceWork], events: Sequence[Event], steps: Steps) -> float | None:
    """Return the share of the steady time, as far as it was seen in detail, in which the device worked; None if none of it was."""
    pauses = find_pauses(sorted(events, key=lambda event: event.start_ns))
    seen = [stretch for stretch in steps.stretches[steps.warmup :] if not is_inside(*stretch, pauses)]
    return busy_share(work, seen)


def _environment(run: Run) -> EnvironmentResult:
    """Return what the program ran on: the machine as it is from here, the rest as the probe saw it."""
    try:
        machine, print_ = read_machine(), fingerprint()
    except OSError:  # no /proc
        machine, print_ = None, {}
    seen = run.evidence.environment
    return EnvironmentResult(
        executable=seen.executable if seen else "",
        processor=print_.get("cpu_model"),
        processor_features=print_.get("cpu_flags"),
        cpus=machine.cpus if machine else None,
        memory_bytes=machine.memory_bytes if machine else None,
        kernel=print_.get("kernel"),
        devices=seen.device_names if seen else (),
        threads=seen.intra_op_threads if seen else None,
        allocator=seen.allocator if seen else None,
        huge_pages=seen.huge_pages if seen else None,
    )


def _ranks(run: Run) -> tuple[RankResult, ...]:
    """Return what each of several ranks did in its steady steps; () for one process."""
    found = []
    models = run.evidence.data_parallel
    for process in run.ranks if len(run.ranks) > 1 else ():
        steps = find_steps(process.events)
        if process.rank is None or steps is None or steps.count - steps.warmup < 1:
            continue
        ledger = account(process.events, steps)
        looked_at = [
            (model, model.reduced / model.backwards * steps.micro_steps) for model in models if model.backwards
        ]
        found.append(
            RankResult(
                rank=process.rank,
                step_ns=round(ledger.wall_ns / ledger.steps),
                communication_ns=round(ledger.categories_ns["communication"] / ledger.steps),
                reductions_per_step=sum(times for _model, times in looked_at) if looked_at else None,
                bytes_per_step=round(sum(model.parameter_bytes * times for model, times in looked_at))
                if looked_at
                else None,
            )
        )
    return tuple(found)


def _findings(analysis: Analysis) -> tuple[Finding, ...]:
    run, steps = analysis.run, analysis.steps
    return find_faults(
        run.evidence,
        analysis.ledger or Ledger.of_nothing(),
        analysis.train_loaders,
        run.usage,
        stack_samples=run.stack_samples,
        micro_steps=steps.micro_steps if steps is not None else 1,
        ranks=_ranks(run),
        out_of_memory=_out_of_memory(run),
    )


def _out_of_memory(run: Run) -> Ending | None:
    """Return how the run ended if memory ran out: a limit or the kernel ended it, or it ended by itself with a message that says so."""
    error = (run.end.error if run.end else None) or ""
    if not run.over_memory and not (run.exit_code and out_of_memory(error)):
        return None
    return Ending(
        error=error,
        by_system=run.over_memory,
        peak_bytes=run.usage.peak_pss_bytes or run.usage.peak_rss_bytes,
        peak_device_bytes=run.end.peak_device_bytes if run.end else None,
    )


def _step_times(steps: Steps) -> tuple[int, ...]:
    return tuple(end - start for start, end in steps.stretches)


def _step_statistics(analysis: Analysis) -> StepStatistics:
    steps = analysis.steps
    if steps is None:
        return StepStatistics(count=0, warmup=0, mean_ns=None, median_ns=None, p90_ns=None)
    steady = _step_times(steps)[steps.warmup :]
    p90 = percentile(steady, share=0.9).value
    samples = steps.samples[steps.warmup :]
    return StepStatistics(
        count=steps.count,
        warmup=steps.warmup,
        mean_ns=round(statistics.fmean(steady)),
        median_ns=round(statistics.median(steady)),
        p90_ns=None if p90 is None else round(p90),
        clock=steps.clock,
        micro_steps=steps.micro_steps,
        samples_per_step=statistics.fmean(samples) if any(samples) else None,
        steps_per_epoch=analysis.epoch_steps,
    )


def _gap_shares(run: Run) -> dict[Category, float]:
    """Shares of the stack samples outside all events by what they are; what has no name is left out, and so is all where they are too few."""
    gaps = [(where.partition("|"), count) for where, count in run.stack_samples if where.startswith("python")]
    total = _gap_samples(run)
    if total < _FEWEST_SAMPLES:
        return {}
    counts: Counter[Category] = Counter()
    for (category, _, where), count in gaps:
        if category in GAP_CATEGORIES:
            counts[GAP_CATEGORIES[category]] += count
        elif not where.startswith("?"):
            counts["python"] += count
    return {category: count / total for category, count in counts.items()}


def _gap_samples(run: Run) -> int:
    return sum(count for where, count in run.stack_samples if where.startswith("python"))


def _hot(run: Run, ledger: Ledger | None) -> tuple[Shadow, ...]:
    samples = [
        (f"{GAP_CATEGORIES[category]}|{place}", count) if category in GAP_CATEGORIES else (where, count)
        for where, count in run.stack_samples
        for category, _, place in [where.partition("|")]
    ]
    weights = _weights(samples, ledger)
    shares = [(where, count * weights[_is_gap(where)]) for where, count in samples]
    ranked = sorted(shares, key=lambda item: (-item[1], item[0]))
    return tuple(Shadow(where=where, share=share) for where, share in ranked[:_HOT_PLACES] if share)


def _weights(samples: Sequence[tuple[str, int]], ledger: Ledger | None) -> dict[bool, float]:
    """Return what a sample inside of no event (True) and one inside of events (False) are worth, as shares of the whole.

    A thread gets to look more easily while the main thread computes in C than while it runs Python: events know better how much time
    is inside of them, samples what is done there.
    """
    counts = Counter({True: 0, False: 0})
    for where, count in samples:
        counts[_is_gap(where)] += count
    total = counts.total()
    if ledger is None or not ledger.wall_ns or not counts[True] or not counts[False]:
        return dict.fromkeys((True, False), 1 / total if total else 0.0)
    gap = ledger.share("unknown") + sum(ledger.share(category) for category in _GAPS)
    return {True: gap / counts[True], False: (1 - gap) / counts[False]}


def _is_gap(where: str) -> bool:
    return where.partition("|")[0] in _GAPS


def _knows_calls(run: Run) -> bool:
    """Tell whether the program's Python says where in a line it is, which tells reads from a device from other calls."""
    environment = run.evidence.environment
    return environment is not None and tuple(map(int, environment.python.split(".")[:2])) >= (3, 11)


def _not_measured(analysis: Analysis) -> list[NotMeasured]:
    run = analysis.run
    gaps: list[NotMeasured] = []
    if not run.connected:
        gaps.append(NotMeasured(what=say("profile.what_steps"), why=say("profile.not_connected")))
    elif run.evidence.environment is None and run.end is None:  # the probe writes an end where torch was imported
        gaps.append(NotMeasured(what=say("profile.what_steps"), why=say("profile.no_torch")))
    elif analysis.steps is None:
        gaps.append(NotMeasured(what=say("profile.what_steps"), why=say("profile.no_steps")))
    if run.evidence.environment is not None and not run.evidence.environment.cuda:
        gaps.append(NotMeasured(what=say("profile.what_device"), why=say("profile.no_device")))
    if run.evidence.environment is not None and run.evidence.environment.cuda and not _knows_calls(run):
        gaps.append(NotMeasured(what=say("profile.what_waits"), why=say("profile.why_waits")))
    if analysis.steps is not None and run.main is not None and (pauses := find_pauses(run.main.events)):
        unseen = sum(is_inside(start, end, pauses) for start, end in analysis.steps.stretches)
        share = numbers.share(unseen / analysis.steps.count)
        gaps.append(NotMeasured(what=say("profile.what_details", share=share), why=say("profile.why_details")))
    gaps.extend(_too_little(analysis))
    environment = run.evidence.environment
    if environment is not None and environment.ranks > 1 and environment.cuda:
        gaps.append(NotMeasured(what=say("profile.what_communication"), why=say("profile.device_communication")))
    if analysis.steps is not None:  # one run cannot tell its own speed from that without a probe
        gaps.append(NotMeasured(what=say("profile.what_overhead"), why=say("profile.why_overhead")))
    gaps.extend(NotMeasured(what=say("profile.what_probe"), why=fault) for fault in run.faults)
    return gaps


def _too_little(analysis: Analysis) -> list[NotMeasured]:
    """Return what the run was too short for, with the way out."""
    ledger, samples = analysis.ledger, _gap_samples(analysis.run)
    if ledger is None:
        return []
    found = []
    if not is_enough(ledger):
        short = say(
            "profile.short",
            wall_ms=ledger.wall_ns / 1e6,
            steps=ledger.steps,
            least_ms=LEAST_WALL_NS // 1_000_000,
            least_steps=LEAST_STEPS,
        )
        found.append(NotMeasured(what=say("profile.what_shares"), why=short))
    if samples < _FEWEST_SAMPLES and ledger.share("unknown") >= _MUCH_UNKNOWN:
        why = say("profile.unnamed", count=samples, least=_FEWEST_SAMPLES)
        found.append(NotMeasured(what=say("profile.what_unnamed"), why=why))
    return found
