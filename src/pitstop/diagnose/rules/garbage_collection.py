"""T24: Python's garbage collector walks over many objects, again and again."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.03
_MIN_WALL_NS = (
    5_000_000_000  # a full collection takes a second in programs of many objects: one in a short run is no habit
)

_EVIDENCE = Text(
    en="gc is {share:.1%} of the steady step time (ledger, gc.callbacks), the program's own gc.collect() left out",
    zh="gc 占稳定训练步时间的 {share:.1%}（账本，gc.callbacks），不含程序自己调用的 gc.collect()",
)


def _find(facts: Facts) -> Finding | None:
    forced = facts.share_of(facts.called("gc.collect"))  # another rule's
    share = max(0.0, facts.share("gc") - forced)
    if share < _MIN_SHARE or facts.ledger.wall_ns < _MIN_WALL_NS:
        return None
    return finding(RULE, share=share, evidence=_EVIDENCE.say(share=share), confidence="high", treatments=("gc-freeze",))


RULE = Rule(
    fault="garbage-collection",
    catalogue=("T24",),
    layer="memory",
    title=Text(
        en="Garbage collection takes {share:.0%} of each step",
        zh="垃圾回收占每步 {share:.0%}",
    ),
    next_action=Text(
        en="gc.collect(); gc.freeze() once everything is built, before the first step",
        zh="在一切构建完成之后、第一步之前执行 gc.collect(); gc.freeze()",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: Python's collector should not be visible at all, below 1 %; here {share:.0%}",
        zh="经验线：Python 垃圾回收应低于 1%，几乎不可见；此处 {share:.0%}",
    ),
    picture=Text(
        en="Checking the whole attic for rubbish each time a wrapper falls down",
        zh="每掉一张包装纸，就把整个阁楼翻一遍找垃圾",
    ),
    question=Text(
        en="What keeps so many Python objects alive: a dataset as lists of dicts, a tokenizer's tables, logs?",
        zh="是什么让这么多 Python 对象一直存活：字典列表式的数据集、分词表，还是日志？",
    ),
    reference=Text(
        en="People reported from 1.5 % up to pauses of 1.4 s (torchtitan#148, marin#9224)",
        zh="公开报告：从 1.5% 到 1.4 秒的停顿（torchtitan#148、marin#9224）",
    ),
)
