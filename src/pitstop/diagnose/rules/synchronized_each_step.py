"""T18: the program waits for the device in every step, mostly to read a clock."""

from pitstop.diagnose.rules.collections_each_step import EACH_STEP
from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_FUNCTIONS = ("torch.cuda.synchronize", "torch.accelerator.synchronize")
_MIN_SHARE = 0.05

_EVIDENCE = Text(
    en="{function}() at {where} runs {per_step:.2g} times per step; the host waits there for {share:.1%} of it (timed). "
    "Part of that is work of the device that some other place would wait for",
    zh="{where} 处的 {function}() 每步执行 {per_step:.2g} 次；主机在此等待占每步 {share:.1%}（实测），其中一部分是换个地方也要等的设备工作",
)


def _find(facts: Facts) -> Finding | None:
    calls = tuple(call for call in facts.called(*_FUNCTIONS) if call.per_step >= EACH_STEP)
    share = facts.share_of(calls)
    if share < _MIN_SHARE:
        return None
    function, where = calls[0].function, place(calls[0].stack, otherwise=calls[0].function)
    evidence = _EVIDENCE.say(function=function, where=where, per_step=calls[0].per_step, share=share)
    return finding(RULE, share=share, evidence=evidence, confidence="low", function=function, where=where)


RULE = Rule(
    fault="synchronized-each-step",
    catalogue=("T18",),
    layer="compute",
    title=Text(
        en="{function}() in every step: the host cannot prepare the next work meanwhile",
        zh="每步调用 {function}()：主机无法同时准备后续工作",
    ),
    next_action=Text(
        en="torch.cuda.Event(enable_timing=True) for timing, read some steps later  # instead of {where}",
        zh="计时改用 torch.cuda.Event(enable_timing=True)，隔几步再读取  # 替换 {where}",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: no synchronisation in the loop outside of timing; the host waits {share:.0%} of the step here",
        zh="经验线：除计时外循环内不做同步；此处主机等待占每步 {share:.0%}",
    ),
    picture=Text(
        en="Calling the kitchen after each order and holding the line until the dish is done",
        zh="每下一单就打电话给厨房，举着话筒等到菜做好",
    ),
    question=Text(
        en="Is the time that is read there used by anybody in this run?",
        zh="那里读取的时间在这次运行中有人用吗？",
    ),
    reference=Text(
        en="One report: 25 % without it (KPConv#22)",
        zh="公开报告：去掉后快 25%（KPConv#22）",
    ),
)
