"""T45: evaluation takes a large part of the time of training."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.2  # people complained of a third to a half of the time; a tenth is usual

_EVIDENCE = Text(
    en="evaluation is {share:.1%} of the steady step time (ledger)",
    zh="评估占稳定训练步时间的 {share:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    share = facts.share("evaluation")
    if share < _MIN_SHARE:
        return None
    return finding(RULE, share=share, evidence=_EVIDENCE.say(share=share), confidence="high")


RULE = Rule(
    fault="evaluation-share",
    catalogue=("T45",),
    layer="compute",
    title=Text(
        en="Evaluation takes {share:.0%} of the training's time",
        zh="评估占训练时间的 {share:.0%}",
    ),
    next_action=Text(
        en="Evaluate less often, or on part of the data; only you can say what is lost by that",
        zh="减少评估次数，或只评估部分数据；会失去什么只有你能判断",
    ),
    find=_find,
)
