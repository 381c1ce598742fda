"""Was the machine quiet enough for this run to count? Decided from what the watcher saw, never from the speed.

A busy machine makes a run invalid, not wrong: the run is repeated. The reason is text in the chosen language.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from scipy.special import stdtr

from pitstop.messages import say
from pitstop.records import TreeUsage
from pitstop.stats.percentiles import effective_sample_size

__all__ = ["Limits", "Quietness", "judge_quietness", "speed_drift"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run stops counting. Shares are of the CPUs that the program may use.

    `contended_foreign`: with less than `spare` of the CPUs idle, whatever others use is taken from the program, so that a
    share f slows it by up to f; 5 % is one standard deviation of an undisturbed process mean (3.9 %, traps.md) above none.
    `any_foreign`: even with idle CPUs, others share caches, memory bandwidth and turbo; from a quarter of the machine on
    that was no longer small. `throttled`: share of the window in which a cgroup quota stopped the program, beyond what is
    usual for it (a program with more threads than quota is throttled always, and that is no disturbance).
    `drift`: the second half of the window slower or faster than the first by this ratio, beyond chance.
    """

    contended_foreign: float = 0.05
    spare: float = 0.10
    any_foreign: float = 0.25
    throttled: float = 0.05
    drift: float = 1.25
    drift_p: float = 0.001


class Quietness(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a run counts, why not (text, "" if it does), and the measured shares; None = not known."""

    valid: bool
    reason: str = ""
    foreign_share: float | None = None
    own_share: float | None = None
    throttled_share: float | None = None
    drift: float | None = None


def judge_quietness(
    usage: TreeUsage,
    *,
    window_ns: tuple[int, int],
    step_ends_ns: Sequence[int] = (),
    usual_throttled_share: float = 0.0,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Quietness:
    """Judge one run by its window (start, end on the watcher's clock).

    `step_ends_ns` inside the window, where known, let drift be seen. Fewer than two samples in or around the window: nothing
    is known of the load, and the run counts.
    """
    own, foreign = _shares(usage, window_ns)
    span = _watched_ns(usage)
    throttled = None if usage.throttled_ns is None or not span else usage.throttled_ns / span
    drift, p_value = speed_drift(step_ends_ns) or (None, 1.0)
    seen = Quietness(valid=True, foreign_share=foreign, own_share=own, throttled_share=throttled, drift=drift)
    reason = ""
    if foreign is not None and own is not None:
        contended = own + foreign > 1 - limits.spare
        limit = limits.contended_foreign if contended else limits.any_foreign
        if foreign > limit:
            reason = say("stats.foreign", share=f"{foreign:.0%}", limit=f"{limit:.0%}")
    if not reason and throttled is not None and throttled > usual_throttled_share + limits.throttled:
        reason = say("stats.throttled", share=f"{throttled:.0%}", usual=f"{usual_throttled_share:.0%}")
    if not reason and drift is not None and max(drift, 1 / drift) > limits.drift and p_value < limits.drift_p:
        reason = say("stats.drift", ratio=f"{drift:.2f}")
    return msgspec.structs.replace(seen, valid=not reason, reason=reason)


def speed_drift(step_ends_ns: Sequence[int]) -> tuple[float, float] | None:
    """Return (time per step in the second half / in the first, two-sided p-value), None below 16 steps.

    Welch's t on log step times with effective, autocorrelation-corrected counts.
    """
    if len(step_ends_ns) < 17:
        return None
    steps = np.diff(np.asarray(step_ends_ns, dtype=float))
    if np.any(steps <= 0):
        return None
    first, second = steps[: len(steps) // 2], steps[len(steps) // 2 :]
    ratio = float(second.mean() / first.mean())
    logs = [np.log(half) for half in (first, second)]
    counts = [max(2.0, effective_sample_size(half.tolist())) for half in logs]
    error = float(np.sqrt(sum(half.var(ddof=1) / count for half, count in zip(logs, counts, strict=True))))
    if error == 0:
        return ratio, 1.0 if ratio == 1 else 0.0
    t_value = abs(float(logs[1].mean() - logs[0].mean())) / error
    return ratio, 2.0 * float(stdtr(sum(counts) - 2, -t_value))


def _shares(usage: TreeUsage, window_ns: tuple[int, int]) -> tuple[float | None, float | None]:
    """Share of the usable CPUs used by the program and by others in the window, interpolated between samples."""
    samples = usage.samples
    if len(samples) < 2:
        return None, None
    times = [sample.time_ns for sample in samples]
    start, end = max(window_ns[0], times[0]), min(window_ns[1], times[-1])
    if end <= start:
        return None, None
    capacity = (end - start) * max(1, usage.cpus)

    def used(values: list[int]) -> float:
        edges = np.interp(np.asarray([start, end], dtype=float), times, values)
        return max(0.0, float(edges[1] - edges[0]) / capacity)

    return used([sample.cpu_ns for sample in samples]), used([sample.foreign_cpu_ns for sample in samples])


def _watched_ns(usage: TreeUsage) -> int:
    return usage.samples[-1].time_ns - usage.samples[0].time_ns if len(usage.samples) > 1 else 0
