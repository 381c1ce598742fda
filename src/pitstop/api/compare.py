"""`pitstop compare A B`: two stored runs side by side. Two runs at different times prove nothing; `pitstop gate` does."""

from pathlib import Path

from pitstop.api.stored import stored_result
from pitstop.errors import WrongUse
from pitstop.messages import say
from pitstop.records.results import (
    SCHEMA,
    CompareResult,
    CompareRun,
    ProfileResult,
    TuneResult,
)

__all__ = ["compare_runs"]

_COMPARED = ("processor", "cpus", "threads", "allocator", "kernel", "executable")


def compare_runs(root: Path, *, a: str, b: str) -> CompareResult:
    """Return what two runs (names below `root`, or paths) have in common and where they differ; of a tune its baseline.

    Raises WrongUse for what is no run, not complete, or has no steps.
    """
    one, other = _profile(root, a), _profile(root, b)
    by_sample = bool(one.steps.samples_per_step and other.steps.samples_per_step)
    return CompareResult(
        schema=SCHEMA,
        a=_run(one),
        b=_run(other),
        ratio=_cost(one, by_sample=by_sample) / _cost(other, by_sample=by_sample),
        by_sample=by_sample,
        differences=_differences(one, other),
    )


def _profile(root: Path, wanted: str) -> ProfileResult:
    result = stored_result(root, wanted=wanted)
    profile = result.baseline if isinstance(result, TuneResult) else result
    if not isinstance(profile, ProfileResult):
        raise WrongUse("compare.no_profile", run=wanted)
    if profile.steps.mean_ns is None:
        raise WrongUse("compare.no_steps", run=wanted)
    return profile


def _cost(profile: ProfileResult, *, by_sample: bool) -> float:
    step_ns = float(profile.steps.mean_ns or 0)
    return step_ns / (profile.steps.samples_per_step or 1.0) if by_sample else step_ns


def _run(profile: ProfileResult) -> CompareRun:
    step_ns = profile.steps.mean_ns or 0
    memory = profile.memory
    return CompareRun(
        run_folder=profile.run_folder or "",
        command=profile.program.command,
        torch=profile.program.torch,
        step_ns=profile.steps.mean_ns,
        samples_per_step=profile.steps.samples_per_step,
        ledger_ns={category: round(share * step_ns) for category, share in profile.ledger.items()},
        peak_bytes=memory.peak_pss_bytes if memory.peak_pss_bytes is not None else memory.peak_rss_bytes,
        findings=tuple(finding.title or finding.fault for finding in profile.findings),
        environment=profile.environment,
        steps=profile.steps.count,
        median_ns=profile.steps.median_ns,
        p90_ns=profile.steps.p90_ns,
    )


def _differences(one: ProfileResult, other: ProfileResult) -> tuple[str, ...]:
    pairs = [("torch", one.program.torch, other.program.torch), ("python", one.program.python, other.program.python)]
    pairs += [
        (name, getattr(one.environment, name, None), getattr(other.environment, name, None)) for name in _COMPARED
    ]
    pairs.append(("command", " ".join(one.program.command), " ".join(other.program.command)))
    return tuple(
        say("compare.differs", what=say(f"compare.what_{name}"), a=before, b=after)
        for name, before, after in pairs
        if before != after and (before is not None or after is not None)
    )
