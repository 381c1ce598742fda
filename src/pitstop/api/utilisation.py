"""What the program used of the machine, as the `utilisation` of a result: processors, kernel counts, memory over time, GPUs."""

import itertools
import statistics
from collections.abc import Sequence

from pitstop.diagnose.trend import trend
from pitstop.records import GpuSample, Run, Steps, SystemSample

__all__ = ["utilisation"]


def utilisation(run: Run, steps: Steps | None) -> dict[str, object]:
    """Return it; means and rates are those of the steady part where steps are known. Times in seconds since the start."""
    first = steps.ends_ns[steps.warmup - 1] if steps and steps.warmup else run.started_ns
    usage = run.usage
    return {
        **_processors(run, first if steps else 0),
        "throttled_ns": usage.throttled_ns,
        "memory": _memory(run, steps, first),
        "system": _system(usage.system, first),
        "processes": [[one.name, one.pid, one.cpu_ns, one.peak_rss_bytes] for one in usage.processes],
        "threads": [[one.name, one.pid, one.tid, one.cpu_ns, one.involuntary] for one in usage.threads],
        "gpus": _gpus(usage.gpus, run.started_ns, first),
    }


def _processors(run: Run, first_ns: int) -> dict[str, object]:
    """CPU use of the process tree as a share of the usable cores, overall and over time."""
    samples, cpus = run.usage.samples, run.usage.cpus
    timeline = []
    for before, after in itertools.pairwise(samples):
        span = (after.time_ns - before.time_ns) * cpus
        if span > 0:
            timeline.append([_seconds(run, after.time_ns), round((after.cpu_ns - before.cpu_ns) / span, 4)])
    inside = [sample for sample in samples if sample.time_ns >= first_ns]
    mean = None
    if len(inside) >= 2 and inside[-1].time_ns > inside[0].time_ns:
        mean = (inside[-1].cpu_ns - inside[0].cpu_ns) / ((inside[-1].time_ns - inside[0].time_ns) * cpus)
    return {"cpu": mean, "cpus": cpus, "timeline": timeline}


def _memory(run: Run, steps: Steps | None, first_ns: int) -> dict[str, object]:
    """Return memory over time, and how fast it grows in the steady part with how much of it a straight line explains."""
    samples = run.usage.samples
    last_ns = steps.ends_ns[-1] if steps else run.ended_ns
    steady = [(one.time_ns / 1e9, float(one.rss_bytes)) for one in samples if first_ns <= one.time_ns <= last_ns]
    line = trend(steady)
    return {
        "timeline": [[_seconds(run, one.time_ns), one.rss_bytes, one.pss_bytes] for one in samples],
        "bytes_per_s": None if line is None else round(line.slope),
        "explained": None if line is None else round(line.explained, 4),
    }


def _system(samples: Sequence[SystemSample], first_ns: int) -> dict[str, object] | None:
    """Return counts per second in the steady part; None where the kernel was asked fewer than twice there."""
    inside = [sample for sample in samples if sample.time_ns >= first_ns] or list(samples)
    if len(inside) < 2 or inside[-1].time_ns <= inside[0].time_ns:
        return None
    first, last = inside[0], inside[-1]
    seconds = (last.time_ns - first.time_ns) / 1e9
    names = (
        "minor_faults",
        "major_faults",
        "voluntary_switches",
        "involuntary_switches",
        "read_bytes",
        "written_bytes",
    )
    rates = {f"{name}_per_s": round((getattr(last, name) - getattr(first, name)) / seconds, 1) for name in names}
    waited = (last.io_wait_ns - first.io_wait_ns) / (last.time_ns - first.time_ns)
    return {**rates, "io_wait": round(waited, 4), "shared_bytes": max(sample.shared_bytes for sample in samples)}


def _gpus(samples: Sequence[GpuSample], started_ns: int, first_ns: int) -> list[dict[str, object]]:
    """Return one entry per GPU: mean utilisation with its timeline, memory, clocks and what lowered them, PCIe rates."""
    found = []
    for index in sorted({sample.index for sample in samples}):
        own = [sample for sample in samples if sample.index == index]
        steady = [sample for sample in own if sample.time_ns >= first_ns] or own
        known = [sample for sample in own if sample.utilisation is not None]
        found.append(
            {
                "index": index,
                "name": own[0].name,
                "utilisation": _mean([sample.utilisation for sample in steady]),
                "timeline": [[round((one.time_ns - started_ns) / 1e9, 3), one.utilisation] for one in known],
                "peak_bytes": max((one.used_bytes for one in own if one.used_bytes is not None), default=None),
                "total_bytes": own[0].total_bytes,
                "clock_mhz": _mean([sample.clock_mhz for sample in steady]),
                "most_clock_mhz": own[0].most_clock_mhz,
                "throttled_by": sorted({reason for sample in steady for reason in sample.throttled_by}),
                "received_bytes_per_s": _mean([sample.received_bytes_per_s for sample in steady]),
                "sent_bytes_per_s": _mean([sample.sent_bytes_per_s for sample in steady]),
                "power_w": _mean([sample.power_w for sample in steady]),
            }
        )
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _seconds(run: Run, time_ns: int) -> float:
    return round((time_ns - run.started_ns) / 1e9, 3)
