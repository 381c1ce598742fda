"""T40: the optimizer updates its parameters one after another, several operations each."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.diagnose.rules.remedies import remedy
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_FUSABLE = frozenset({"SGD", "Adam", "AdamW", "Adagrad"})  # those of torch that take fused=True
_MIN_SHARE = 0.1

_EVIDENCE = Text(
    en="optimizer is {share:.1%} of the steady step time (ledger); {name} of {tensors} tensors without fused=True at {where}",
    zh="优化器占稳定训练步时间的 {share:.1%}（账本）；{where} 处的 {name} 有 {tensors} 个张量且未设 fused=True",
)


def _find(facts: Facts) -> Finding | None:
    share = facts.share("optimizer")
    unfused = [
        optimizer
        for optimizer in facts.evidence.optimizers
        if not optimizer.fused and optimizer.optimizer_class.rpartition(".")[2] in _FUSABLE
    ]
    if not unfused or share < _MIN_SHARE:
        return None
    largest = max(unfused, key=lambda optimizer: optimizer.num_elements)
    name, where = largest.optimizer_class.rpartition(".")[2], place(largest.stack, otherwise=largest.optimizer_class)
    return finding(
        RULE,
        share=share,
        evidence=_EVIDENCE.say(share=share, name=name, tensors=largest.num_tensors, where=where),
        confidence="medium",
        treatments=("fused-optimizer",),
        where=where,
        remedy=remedy(largest.library, "fused", otherwise=f"{name}(..., fused=True)"),
    )


RULE = Rule(
    fault="optimizer-unfused",
    catalogue=("T40",),
    layer="compute",
    title=Text(
        en="The optimizer takes {share:.0%} of each step and is not fused",
        zh="优化器占每步 {share:.0%}，且未融合",
    ),
    next_action=Text(
        en="{remedy}  # {where}",
        zh="{remedy}  # 位于 {where}",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: the optimizer above 10 % of the step is worth a look; here {share:.0%}",
        zh="经验线：优化器超过每步的 10% 就值得看；此处 {share:.0%}",
    ),
    picture=Text(
        en="Painting a fence board by board, cleaning the brush after each one",
        zh="一块一块地刷栅栏，每刷一块都洗一次刷子",
    ),
    question=Text(
        en="Does anything subclass the optimizer or replace its arithmetic?",
        zh="有没有继承该优化器或替换其运算的代码？",
    ),
    reference=Text(
        en="People reported 100 ms down to 10 ms (WeatherGenerator#2551); others no gain (pytorch#101291)",
        zh="公开报告：由 100 毫秒降到 10 毫秒（WeatherGenerator#2551）；也有人没有收益（pytorch#101291）",
    ),
)
