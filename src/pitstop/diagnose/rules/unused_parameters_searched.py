"""T41: DistributedDataParallel looks for unused parameters in every iteration, and never found one."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_BACKWARDS = 10

_EVIDENCE = Text(
    en="find_unused_parameters=True at {where}; in {backwards} iterations no parameter was unused (the log of DistributedDataParallel)",
    zh="{where} 处 find_unused_parameters=True；{backwards} 次迭代中没有未使用的参数（DistributedDataParallel 自身的日志）",
)


def _find(facts: Facts) -> Finding | None:
    for model in facts.evidence.data_parallel:
        if model.find_unused_parameters and model.unused_bytes == 0 and model.backwards >= _MIN_BACKWARDS:
            where = place(model.stack, otherwise=model.module_class)
            evidence = _EVIDENCE.say(where=where, backwards=model.backwards)
            # The walk over the graph is inside forward and cannot be told from it: nothing is promised.
            return finding(RULE, share=0.0, evidence=evidence, confidence="medium")
    return None


RULE = Rule(
    fault="unused-parameters-searched",
    catalogue=("T41",),
    layer="communication",
    title=Text(
        en="Every forward searches the graph for unused parameters, and there are none",
        zh="每次前向都在计算图中查找未使用的参数，而实际上没有",
    ),
    next_action=Text(
        en="DistributedDataParallel(model, find_unused_parameters=False)",
        zh="DistributedDataParallel(model, find_unused_parameters=False)",
    ),
    find=_find,
    fact=Text(
        en="Every forward searches the graph for unused parameters, and there are none",
        zh="每次前向都在计算图中查找未使用的参数，而实际上没有",
    ),
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: the search is for models that skip parameters in some iterations; here none did",
        zh="经验线：只有某些迭代会跳过参数的模型才需要查找；此处没有",
    ),
    picture=Text(
        en="A guard who checks every empty room again each hour",
        zh="保安每小时把所有空房间再检查一遍",
    ),
    question=Text(
        en="Is there a branch of the model that a rare batch would skip?",
        zh="模型中是否有某个分支会被少数批次跳过？",
    ),
    reference=Text(
        en="Reported gains are small or none (pytorch#50133, Samudra#630, KAIR#103)",
        zh="公开报告：收益很小或没有（pytorch#50133、Samudra#630、KAIR#103）",
    ),
)
