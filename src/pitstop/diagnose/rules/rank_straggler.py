"""T44: one rank works longer than the others, and they wait for it in every step."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.10  # of the step that an even distribution of the work would save

_EVIDENCE = Text(
    en="waiting for other ranks, per step: {waits}; rank {straggler} waits least, so the others wait for it",
    zh="每步等待其他进程的时间：{waits}；rank {straggler} 等待最少，即其他进程在等它",
)


def _find(facts: Facts) -> Finding | None:
    if len(facts.ranks) < 2 or any(rank.step_ns <= 0 for rank in facts.ranks):
        return None
    waits = [rank.communication_ns for rank in facts.ranks]
    least = min(facts.ranks, key=lambda rank: rank.communication_ns)
    share = (sum(waits) / len(waits) - least.communication_ns) / max(rank.step_ns for rank in facts.ranks)
    if share < _MIN_SHARE:
        return None
    said = ", ".join(f"rank {rank.rank}: {rank.communication_ns / 1e6:.1f} ms" for rank in facts.ranks)
    evidence = _EVIDENCE.say(waits=said, straggler=least.rank)
    return finding(RULE, share=share, evidence=evidence, confidence="medium", straggler=least.rank)


RULE = Rule(
    fault="rank-straggler",
    catalogue=("T44",),
    layer="communication",
    title=Text(
        en="Rank {straggler} is slower than the others, which wait for it",
        zh="rank {straggler} 比其他进程慢，其他进程在等它",
    ),
    next_action=Text(
        en="compare rank {straggler}'s batches, files and processor with the others'; give all ranks batches of equal work",
        zh="比较 rank {straggler} 与其他进程的批次、文件和处理器；让所有进程的批次工作量相同",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: ranks should wait for each other less than 10 % of the step; here {share:.0%}",
        zh="经验线：进程互相等待应低于每步的 10%；此处 {share:.0%}",
    ),
    picture=Text(
        en="A convoy drives as fast as its slowest ship",
        zh="船队的速度取决于最慢的那条船",
    ),
    question=Text(
        en="Does this rank have longer samples, a slower disk, or other work such as logging?",
        zh="这个进程是否样本更长、磁盘更慢，或有写日志等额外工作？",
    ),
    reference=Text(
        en="Gains vary with the imbalance (SPDL and TraceML documentation)",
        zh="收益取决于不均衡的程度（SPDL 与 TraceML 文档）",
    ),
)
