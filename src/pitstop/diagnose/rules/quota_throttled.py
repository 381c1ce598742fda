"""T5: the container's processor quota is used up before each period ends, and everything stands still until the next."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.05

_EVIDENCE = Text(
    en="the cgroup was throttled for {stopped:.1f} s of {wall:.1f} s (cpu.stat)",
    zh="cgroup 在 {wall:.1f} 秒中被限流 {stopped:.1f} 秒（cpu.stat）",
)


def _find(facts: Facts) -> Finding | None:
    samples, throttled = facts.usage.samples, facts.usage.throttled_ns
    if not throttled or len(samples) < 2:
        return None
    wall_ns = samples[-1].time_ns - samples[0].time_ns
    share = min(1.0, throttled / wall_ns) if wall_ns > 0 else 0.0
    if share < _MIN_SHARE:
        return None
    evidence = _EVIDENCE.say(stopped=throttled / 1e9, wall=wall_ns / 1e9)
    return finding(RULE, share=share, evidence=evidence, confidence="high", treatments=("threads",))


RULE = Rule(
    fault="quota-throttled",
    catalogue=("T5",),
    layer="environment",
    title=Text(
        en="The processor quota of the container stopped the program for {share:.0%} of the time",
        zh="容器的处理器配额使程序有 {share:.0%} 的时间停顿",
    ),
    next_action=Text(
        en="As many threads and workers as the quota has processors (cpu.max), or a larger quota",
        zh="线程数和工作进程数不超过配额的处理器数（cpu.max），或提高配额",
    ),
    find=_find,
)
