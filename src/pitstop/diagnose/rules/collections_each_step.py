"""T23: the program makes Python's garbage collector walk over everything in every step."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["EACH_STEP", "RULE"]

_MIN_SHARE = 0.03
EACH_STEP = 0.5  # calls per step from which on it is no occasional one

_EVIDENCE = Text(
    en="gc.collect() at {where} runs {per_step:.2g} times per step and takes {share:.1%} of it (timed)",
    zh="{where} 处的 gc.collect() 每步执行 {per_step:.2g} 次，占每步 {share:.1%}（实测）",
)


def _find(facts: Facts) -> Finding | None:
    calls = tuple(call for call in facts.called("gc.collect") if call.per_step >= EACH_STEP)
    share = facts.share_of(calls)
    if share < _MIN_SHARE:
        return None
    where = place(calls[0].stack, otherwise="?")
    evidence = _EVIDENCE.say(where=where, per_step=calls[0].per_step, share=share)
    return finding(RULE, share=share, evidence=evidence, confidence="high", treatments=("gc-collect-off",), where=where)


RULE = Rule(
    fault="collections-each-step",
    catalogue=("T23",),
    layer="memory",
    title=Text(
        en="gc.collect() in every step takes {share:.0%} of it",
        zh="每步调用 gc.collect()，占每步 {share:.0%}",
    ),
    next_action=Text(
        en="Remove gc.collect() at {where}: Python collects by itself, and tensors are freed without it",
        zh="删除 {where} 处的 gc.collect()：Python 会自行回收，张量的释放也不依赖它",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: no forced collection in the training loop; here {share:.0%} of each step",
        zh="经验线：训练循环中不强制回收；此处占每步 {share:.0%}",
    ),
    picture=Text(
        en="Emptying all bins of the house after every sheet of paper",
        zh="每用一张纸就倒一遍全屋的垃圾桶",
    ),
    question=Text(
        en="Which memory problem was this call meant to solve, and does it still exist?",
        zh="这个调用当初是为了解决什么内存问题？问题还在吗？",
    ),
    reference=Text(
        en="One report: 108 s down to 45 s without such calls (peft#2894); see transformers#31372 and OneTrainer#1459",
        zh="公开报告：去掉此类调用后由 108 秒降到 45 秒（peft#2894），另见 transformers#31372、OneTrainer#1459",
    ),
)
