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
)
