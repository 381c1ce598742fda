"""A result as what trackers of experiments take: parameters, single numbers, series over steps, and files."""

import re
import shlex
from pathlib import Path

import msgspec

from pitstop import __version__
from pitstop.records.results import PrescriptionResult, ProfileResult, TuneResult
from pitstop.report.plain import plain

__all__ = ["RunLog", "Series", "run_log"]

_MS = 1e6
_KEPT = ("report.html", "report.md", "profile.json", "tune.json")
_OTHER = re.compile(r"[^A-Za-z0-9_./ -]+")  # MLflow takes these characters in names; TensorBoard takes more
MOST_POINTS = 2_000  # of a series: beyond them neighbouring steps are averaged


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Values over steps: (step from 1, value), in order."""

    name: str
    points: tuple[tuple[int, float], ...]


class RunLog(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of one run. Units are in the names: ms, bytes, share (0 to 1), speedup (a ratio)."""

    name: str
    parameters: dict[str, str]
    metrics: dict[str, float]
    series: tuple[Series, ...]
    files: tuple[str, ...]


def run_log(result: ProfileResult | TuneResult) -> RunLog:
    """Return what a tracker gets to know of a profile, or of a tune with its baseline. What was not measured is left out."""
    profile = result.baseline if isinstance(result, TuneResult) else result
    parameters, metrics = _parameters(profile), _of_profile(profile)
    patch = None
    if isinstance(result, TuneResult):
        parameters |= _prescribed(result.prescription)
        metrics |= _of_tune(result)
        patch = result.prescription.patch
    folder = Path(result.run_folder) if result.run_folder else None
    names = [*(folder / name for name in _KEPT), *([Path(patch)] if patch else ())] if folder else []
    return RunLog(
        name=folder.name if folder else "pitstop",
        parameters={name: plain(value) for name, value in parameters.items() if value},
        metrics={_OTHER.sub("_", name): float(value) for name, value in metrics.items() if value is not None},
        series=_series(profile),
        files=tuple(str(path) for path in names),
    )


def _parameters(profile: ProfileResult) -> dict[str, str]:
    program, environment = profile.program, profile.environment
    found = {
        "command": shlex.join(program.command),
        "python": program.python or "",
        "torch": program.torch or "",
        "pitstop": __version__,
    }
    if environment is not None:
        found |= {
            "processor": environment.processor or "",
            "cpus": str(environment.cpus or ""),
            "devices": ", ".join(environment.devices),
            "threads": str(environment.threads or ""),
        }
    return found


def _of_profile(profile: ProfileResult) -> dict[str, float | None]:
    steps, memory = profile.steps, profile.memory
    found: dict[str, float | None] = {
        "steps/count": steps.count,
        "steps/mean_ms": None if steps.mean_ns is None else steps.mean_ns / _MS,
        "steps/median_ms": None if steps.median_ns is None else steps.median_ns / _MS,
        "steps/p90_ms": None if steps.p90_ns is None else steps.p90_ns / _MS,
        "steps/samples_per_s": 1e9 * steps.samples_per_step / steps.mean_ns
        if steps.samples_per_step and steps.mean_ns
        else None,
        "memory/peak_rss_bytes": memory.peak_rss_bytes,
        "memory/peak_pss_bytes": memory.peak_pss_bytes,
        "memory/peak_device_bytes": memory.peak_device_bytes,
        "device/busy_share": profile.device_busy,
    }
    busy = profile.utilisation.get("cpu")
    found["cpu/busy_share"] = busy if isinstance(busy, int | float) else None
    found |= {f"ledger/{category}_share": share for category, share in profile.ledger.items()}
    found |= {f"finding/{finding.fault}/ceiling_speedup": finding.ceiling_speedup for finding in profile.findings}
    return found


def _prescribed(prescription: PrescriptionResult) -> dict[str, str]:
    return {"treatments": " + ".join(prescription.treatments)}


def _of_tune(result: TuneResult) -> dict[str, float | None]:
    found: dict[str, float | None] = {"tune/trials": result.trials, "tune/wall_s": result.wall_s}
    prescription = result.prescription
    if prescription.treatments:
        found |= _with_interval("tune/speedup", prescription.speedup, prescription.ci)
    if prescription.patched is not None:
        found |= _with_interval("tune/patched_speedup", prescription.patched.speedup, prescription.patched.ci)
    for verdict in result.verdicts:
        if verdict.speedup is not None:
            found |= _with_interval(f"verdict/{'+'.join(verdict.treatments)}/speedup", verdict.speedup, verdict.ci)
    return found


def _with_interval(name: str, value: float, ci: tuple[float, float] | None) -> dict[str, float | None]:
    return {name: value, **({f"{name}_low": ci[0], f"{name}_high": ci[1]} if ci is not None else {})}


def _series(profile: ProfileResult) -> tuple[Series, ...]:
    times = profile.step_times_ns
    width = -(-len(times) // MOST_POINTS) or 1
    points = tuple(
        (first + len(part), sum(part) / len(part) / _MS)
        for first in range(0, len(times), width)
        if (part := times[first : first + width])
    )
    found = [Series(name="step/time_ms", points=points)] if points else []
    categories = sorted({category for stretch in profile.ledger_timeline for category in stretch.shares})
    found += [
        Series(
            name=f"step/ledger/{category}_share",
            points=tuple(
                (stretch.last_step, stretch.shares.get(category, 0.0))
                for stretch in profile.ledger_timeline
                if stretch.shares
            ),
        )
        for category in categories
    ]
    return tuple(found)
