"""T46: writing checkpoints stops the training."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.05

_EVIDENCE = Text(
    en="torch.save is {share:.1%} of the steady step time (ledger)",
    zh="torch.save 占稳定训练步时间的 {share:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    share = facts.share("checkpoint")
    if share < _MIN_SHARE:
        return None
    return finding(RULE, share=share, evidence=_EVIDENCE.say(share=share), confidence="high")


RULE = Rule(
    fault="checkpoint-share",
    catalogue=("T46",),
    layer="data",
    title=Text(
        en="Writing checkpoints takes {share:.0%} of the training's time",
        zh="写检查点占训练时间的 {share:.0%}",
    ),
    next_action=Text(
        en="Save less often, or in a thread from a copy on the CPU (torch.distributed.checkpoint.async_save)",
        zh="减少保存次数，或在线程中从 CPU 副本保存（torch.distributed.checkpoint.async_save）",
    ),
    find=_find,
    owner="platform",
    rule_of_thumb=Text(
        en="Usual line: saving should stay below 5 % of the time; here {share:.0%}",
        zh="经验线：保存应低于时间的 5%；此处 {share:.0%}",
    ),
    picture=Text(
        en="The author stops writing while each page is carried to the archive",
        zh="每写完一页，作者都停笔等它送进档案室",
    ),
    question=Text(
        en="How much work may be lost after a crash, in minutes?",
        zh="崩溃后最多可以损失多少分钟的工作？",
    ),
    reference=Text(
        en="One report: blocked for 0.54 s instead of 27.3 s by saving asynchronously (Automodel#635)",
        zh="公开报告：异步保存使阻塞由 27.3 秒降到 0.54 秒（Automodel#635）",
    ),
)
