"""T50: weights, gradients or averages have become so small that the processor computes them by microcode."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_PART = 0.01  # of the numbers read: one in a vector slows the whole operation down
_MIN_SHARE = 0.05

_EVIDENCE = Text(
    en="{part:.1%} of {numbers} numbers read of the {of} after {step} steps are denormal; computing with them is {share:.1%} of the step (ledger)",
    zh="{step} 步后读取的{of}的 {numbers} 个数中有 {part:.1%} 为非规格化数；使用它们的计算占每步 {share:.1%}（账本）",
)
_NAMES = {
    "parameters": Text(en="parameters", zh="参数"),
    "gradients": Text(en="gradients", zh="梯度"),
    "optimizer state": Text(en="optimizer's state", zh="优化器状态"),
}


def _find(facts: Facts) -> Finding | None:
    environment = facts.evidence.environment
    seen = [one for one in facts.evidence.denormals if one.numbers and one.denormal >= _MIN_PART * one.numbers]
    if not seen or environment is None or environment.flushes_denormals:
        return None
    worst = max(seen, key=lambda one: one.denormal / one.numbers)
    only_state = all(one.of == "optimizer state" for one in seen)
    share = facts.share("optimizer") if only_state else facts.share("forward", "backward", "optimizer")
    if share < _MIN_SHARE:
        return None
    name = _NAMES.get(worst.of, Text(en=worst.of, zh=worst.of))
    evidence = _EVIDENCE.say(
        part=worst.denormal / worst.numbers, numbers=worst.numbers, of=name.say(), step=worst.step, share=share
    )
    return finding(RULE, share=share, evidence=evidence, confidence="medium", treatments=("flush-denormal",))


RULE = Rule(
    fault="denormal-numbers",
    catalogue=("T50",),
    layer="compute",
    title=Text(
        en="Many numbers are denormal, with which processors compute many times slower",
        zh="大量数值为非规格化数，处理器计算它们会慢许多倍",
    ),
    next_action=Text(
        en="torch.set_flush_denormal(True)  # before the first operation, in the process that trains",
        zh="torch.set_flush_denormal(True)  # 在训练进程中、第一个操作之前",
    ),
    find=_find,
    fact=Text(
        en="Many numbers are denormal",
        zh="大量数值为非规格化数",
    ),
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: hardly any denormal numbers; one in a hundred already slows down whole operations",
        zh="经验线：几乎不应有非规格化数；百分之一就足以拖慢整个算子",
    ),
    picture=Text(
        en="A cashier who has to look every coin below a cent up in a book",
        zh="收银员每遇到不足一分的硬币都要去翻书",
    ),
    question=Text(
        en="Do weights or averages die out here (strong decay, dead units, a long run after convergence)?",
        zh="这里的权重或滑动平均是否在消亡（强衰减、死神经元、收敛后仍长时间训练）？",
    ),
    reference=Text(
        en="People reported steps that got slower and slower (pytorch#4737); in inference 2400 ms down to 70 ms (onnxruntime#7448)",
        zh="公开报告：CPU 上的训练步越来越慢（pytorch#4737、chainer#2554）；推理中由 2400 毫秒降到 70 毫秒（onnxruntime#7448）",
    ),
)
