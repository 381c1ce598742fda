"""The plain facts of one run, each a label and a value: steps, memory, processors, what pitstop itself cost."""

import shlex

import msgspec

from pitstop.messages import say
from pitstop.records.results import ProfileResult, RankResult, StepStatistics
from pitstop.report import numbers
from pitstop.report.content.labels import label
from pitstop.report.plain import plain

SEPARATOR = " · "


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One measured thing as text. `name` is the reader's word for it."""

    name: str
    value: str


def run_facts(result: ProfileResult) -> tuple[Fact, ...]:
    """Return what is known of the run besides its ledger; what was not measured is left out (see `not_measured`)."""
    found = (
        ("steps", _steps(result.steps)),
        ("periodic", _periodic(result)),
        ("ranks", _ranks(result.ranks)),
        ("memory", _memory(result)),
        ("processors", _processors(result)),
        ("gpus", _gpus(result)),
        ("system", _system(result)),
        ("overhead", _overhead(result)),
    )
    return tuple(Fact(name=label("fact", name), value=value) for name, value in found if value)


def command_line(command: tuple[str, ...]) -> str:
    """Return the command as one harmless line that a shell would read as the same command."""
    return plain(shlex.join(command))


def program_line(result: ProfileResult, *, in_part: bool = False) -> str:
    """Return the command, how long it ran, its exit code and the versions under it, as one line.

    `in_part`: it was stopped by pitstop, so that neither time nor exit code are the program's own.
    """
    program = result.program
    parts = [command_line(program.command)]
    if not in_part:
        if result.wall_s > 0:
            parts.append(numbers.duration(result.wall_s * 1e9))
        parts.append(say("report.fact.exit_code", code=program.exit_code))
    if program.python:
        parts.append(f"Python {plain(program.python)}")
    if program.torch:
        parts.append(f"torch {plain(program.torch)}")
    return SEPARATOR.join(parts)


def _steps(steps: StepStatistics) -> str:
    if not steps.count:
        return ""
    parts = [say("report.fact.step_count", count=numbers.count(steps.count), warmup=numbers.count(steps.warmup))]
    if steps.mean_ns is not None:
        parts.append(say("report.fact.mean", time=numbers.milliseconds(steps.mean_ns)))
    if steps.median_ns is not None:
        parts.append(say("report.fact.median", time=numbers.milliseconds(steps.median_ns)))
    if steps.p90_ns is not None:
        parts.append(say("report.fact.p90", time=numbers.milliseconds(steps.p90_ns)))
    elif steps.mean_ns is not None:
        parts.append(say("report.fact.p90_refused"))
    if steps.micro_steps > 1:
        parts.append(say("report.fact.micro_steps", count=steps.micro_steps))
    if steps.samples_per_step:
        parts.append(say("report.fact.samples", count=f"{steps.samples_per_step:.6g}"))
    if steps.clock:
        parts.append(label("clock", steps.clock))
    return SEPARATOR.join(parts)


def _periodic(result: ProfileResult) -> str:
    folder = result.program.cwd.rstrip("/") + "/"
    return SEPARATOR.join(
        say(
            "report.fact.every",
            category=label("category", work.category),
            steps=numbers.count(work.every),
            time=numbers.duration(work.extra_ns),
            share=numbers.share(work.share),
        )
        + (f" ({plain(work.where.removeprefix(folder))})" if work.where else "")
        for work in result.periodic
    )


def _ranks(ranks: tuple[RankResult, ...]) -> str:
    if not ranks:
        return ""
    slowest = min(ranks, key=lambda rank: rank.communication_ns)  # whoever waits least is waited for
    waits = ", ".join(f"{rank.rank}: {numbers.milliseconds(rank.communication_ns)}" for rank in ranks)
    time = numbers.milliseconds(max(rank.step_ns for rank in ranks))
    return say("report.fact.rank_times", count=len(ranks), slowest=slowest.rank, time=time, waits=waits)


def _memory(result: ProfileResult) -> str:
    memory = result.memory
    found = (
        ("report.fact.peak_rss", memory.peak_rss_bytes),
        ("report.fact.peak_pss", memory.peak_pss_bytes),
        ("report.fact.peak_device", memory.peak_device_bytes),
    )
    return SEPARATOR.join(say(key, size=numbers.bytes_text(size)) for key, size in found if size is not None)


def _processors(result: ProfileResult) -> str:
    busy, cpus = result.utilisation.get("cpu"), result.utilisation.get("cpus")
    throttled_ns = result.utilisation.get("throttled_ns")
    parts: list[str] = []
    if isinstance(busy, int | float) and isinstance(cpus, int):
        parts.append(say("report.fact.cpu", share=numbers.share(busy), cpus=cpus))
    if isinstance(throttled_ns, int) and throttled_ns > 0:
        parts.append(say("report.fact.throttled", time=numbers.duration(throttled_ns)))
    return SEPARATOR.join(parts)


def _gpus(result: ProfileResult) -> str:
    parts: list[str] = []
    if result.device_busy is not None:
        parts.append(say("report.fact.device_busy", share=numbers.share(result.device_busy)))
    gpus = result.utilisation.get("gpus")
    for gpu in gpus if isinstance(gpus, list) else ():
        share = gpu.get("utilisation")
        if isinstance(share, int | float):
            parts.append(say("report.fact.gpu", name=plain(str(gpu.get("name"))), share=numbers.share(share)))
        if gpu.get("throttled_by"):
            parts.append(say("report.fact.gpu_throttled", reasons=plain(", ".join(gpu["throttled_by"]))))
    return SEPARATOR.join(parts)


def _system(result: ProfileResult) -> str:
    system = result.utilisation.get("system")
    if not isinstance(system, dict):
        return ""
    parts = [
        say("report.fact.switches", count=numbers.count(round(system["involuntary_switches_per_s"]))),
        say("report.fact.faults", count=numbers.count(round(system["minor_faults_per_s"]))),
    ]
    for key, name in (("report.fact.reads", "read_bytes_per_s"), ("report.fact.writes", "written_bytes_per_s")):
        if system[name] >= 1 << 20:
            parts.append(say(key, size=numbers.bytes_text(round(system[name]))))
    if system["io_wait"] >= 0.01:
        parts.append(say("report.fact.io_wait", share=numbers.share(system["io_wait"])))
    return SEPARATOR.join(parts)


def _overhead(result: ProfileResult) -> str:
    per_step_ns, part = result.overhead.per_step_ns, result.overhead.share
    if per_step_ns is None or part is None:
        return ""
    return say("report.fact.overhead_value", time=numbers.duration(per_step_ns), share=numbers.share(part))
