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
    owner="product",
    rule_of_thumb=Text(
        en="Usual line: evaluation is about a tenth of the time; here {share:.0%}",
        zh="经验线：评估约占时间的十分之一；此处 {share:.0%}",
    ),
    picture=Text(
        en="An exam after every page of the book",
        zh="书每读一页就考一次试",
    ),
    question=Text(
        en="Who reads the metric after each evaluation, and what would be decided differently with half as many?",
        zh="每次评估后的指标谁在看？评估次数减半会改变什么决定？",
    ),
    reference=Text(
        en="People complained of a third to a half of the time (senpai#51, deepinterpolation#104, Open3D-ML#385)",
        zh="公开报告中有人抱怨占到三分之一到一半（senpai#51、deepinterpolation#104、Open3D-ML#385）",
    ),
)
