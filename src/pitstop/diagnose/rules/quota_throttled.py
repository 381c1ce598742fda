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
    owner="platform",
    rule_of_thumb=Text(
        en="Usual line: a job that is throttled at all has more threads than its quota has processors; here it stood still for {share:.0%}",
        zh="经验线：只要被限流，就说明线程多于配额的处理器数；此处停顿 {share:.0%}",
    ),
    picture=Text(
        en="A prepaid card that is used up in the middle of each month: until the next one everything stands still",
        zh="预付卡每月月中就用完：直到下个月之前一切停摆",
    ),
    question=Text(
        en="What is the job's processor limit, and was it chosen for this program?",
        zh="这个作业的处理器上限是多少？是为这个程序选定的吗？",
    ),
    reference=Text(
        en="People met it in containers of all kinds (batpred#4771, ml-agents#4471, cpython#80235); gains vary",
        zh="各种容器中都有人遇到（batpred#4771、ml-agents#4471、cpython#80235）；收益各异",
    ),
)
