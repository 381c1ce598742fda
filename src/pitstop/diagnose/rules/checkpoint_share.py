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
)
