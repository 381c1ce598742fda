"""T42: gradients are summed over the ranks after every micro-step of an accumulation, where once would do."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.05
_MIN_BACKWARDS = 8
_ALL = 0.95  # of the backwards end in a reduction

_EVIDENCE = Text(
    en="{reduced} of {backwards} backwards ended in a reduction, {micro_steps} per step; communication is {whole:.1%} of the step (ledger); "
    "DistributedDataParallel at {where}",
    zh="{backwards} 次反向中有 {reduced} 次以梯度归约结束，每个优化器步有 {micro_steps} 次反向；通信占每步 {whole:.1%}（账本）；"
    "DistributedDataParallel 位于 {where}",
)


def _find(facts: Facts) -> Finding | None:
    whole, micro_steps = facts.share("communication"), facts.micro_steps
    seen = [model for model in facts.evidence.data_parallel if model.backwards >= _MIN_BACKWARDS]
    guilty = [model for model in seen if model.reduced >= _ALL * model.backwards]
    share = whole * (1 - 1 / micro_steps)
    if (
        micro_steps < 2 or len(guilty) != 1 or len(seen) != 1 or share < _MIN_SHARE
    ):  # several models share the backwards
        return None
    model = guilty[0]
    evidence = _EVIDENCE.say(
        reduced=model.reduced,
        backwards=model.backwards,
        micro_steps=micro_steps,
        whole=whole,
        where=place(model.stack, otherwise=model.module_class),
    )
    return finding(RULE, share=share, evidence=evidence, confidence="medium", micro_steps=micro_steps)


RULE = Rule(
    fault="reduced-each-micro-step",
    catalogue=("T42",),
    layer="communication",
    title=Text(
        en="Gradients are summed over the ranks {micro_steps} times per optimizer step",
        zh="每个优化器步跨进程归约梯度 {micro_steps} 次",
    ),
    next_action=Text(
        en="with model.no_sync():  # around forward and backward of all micro-steps but the last",
        zh="with model.no_sync():  # 包住除最后一个微步以外的前向和反向",
    ),
    find=_find,
    fact=Text(
        en="Gradients are summed over the ranks in each micro-step",
        zh="每个微步都跨进程归约梯度",
    ),
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: one reduction of the gradients per optimizer step; here {micro_steps}",
        zh="经验线：每个优化器步归约一次梯度；此处 {micro_steps} 次",
    ),
    picture=Text(
        en="Colleagues who meet after every line to agree on a page",
        zh="每写一行就开一次会，而不是写完一页再开会",
    ),
    question=Text(
        en="Does the loop need summed gradients before the last micro-step, for clipping say?",
        zh="在最后一个微步之前，循环是否需要归约后的梯度（例如裁剪）？",
    ),
    reference=Text(
        en="People reported twice as fast and more (accelerate#1153)",
        zh="公开报告：快一倍以上（accelerate#1153）",
    ),
)
