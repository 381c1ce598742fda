"""T19: results of earlier steps are kept with the graphs that computed them, so that memory grows with every step."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records import KeptGraphs
from pitstop.records.results import Finding

__all__ = ["RULE"]

_LEAST_PER_STEP = 0.9
_ALIKE = 0.1  # relative difference of the two growths: a list that is filled and emptied does not grow so evenly

_EVIDENCE = Text(
    en="{what}: {first} after {first_step} steps, {last} after {last_step}, {per_step:.2g} more per step (counted among Python's objects); "
    "the backward is at {where}",
    zh="{what}：{first_step} 步后 {first} 个，{last_step} 步后 {last} 个，每步增加 {per_step:.2g} 个（在 Python 对象中计数）；反向在 {where}",
)
_TENSORS = Text(en="live tensors that hold a graph", zh="仍存活且持有计算图的张量")
_SUMS = Text(en="sums chained behind one scalar tensor", zh="一个标量张量背后串联的加法")


def _find(facts: Facts) -> Finding | None:
    seen = sorted(facts.evidence.kept_graphs, key=lambda one: one.step)
    if len(seen) < 3:
        return None
    kept = [(_TENSORS, [one.tensors for one in seen]), (_SUMS, [one.chain for one in seen])]
    grown = [(what, counts) for what, counts in kept if _grows(seen, counts)]
    if not grown:
        return None
    what, counts = grown[0]
    backward = max(facts.evidence.backwards, key=lambda one: one.operations or 0, default=None)
    where = place(backward.stack, otherwise="?") if backward is not None else "?"
    per_step = (counts[-1] - counts[0]) / (seen[-1].step - seen[0].step)
    evidence = _EVIDENCE.say(
        what=what.say(),
        first=counts[0],
        first_step=seen[0].step,
        last=counts[-1],
        last_step=seen[-1].step,
        per_step=per_step,
        where=where,
    )
    return finding(RULE, share=0.0, evidence=evidence, confidence="high", where=where)


def _grows(seen: list[KeptGraphs], counts: list[int]) -> bool:
    """Tell whether every stretch between two counts added about the same number per step, at least one."""
    rates = [
        (counts[index + 1] - counts[index]) / max(1, seen[index + 1].step - seen[index].step)
        for index in range(len(counts) - 1)
    ]
    return min(rates) >= _LEAST_PER_STEP and max(rates) <= (1 + _ALIKE) * min(rates)


RULE = Rule(
    fault="graphs-kept",
    catalogue=("T19",),
    layer="memory",
    title=Text(
        en="Results of each step are kept with the graph that computed them: memory grows until it is full",
        zh="每步的结果连同其计算图一起被保留：内存持续增长直到耗尽",
    ),
    next_action=Text(
        en="total += loss.item(), losses.append(loss.detach()): keep numbers, not graphs  # near {where}",
        zh="total += loss.item()、losses.append(loss.detach())：保留数值而不是计算图  # 在 {where} 附近",
    ),
    find=_find,
    fact=Text(
        en="Results of each step are kept with the graph that computed them",
        zh="每步的结果连同其计算图一起被保留",
    ),
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: memory stays the same from step to step once the first few are done",
        zh="经验线：最初几步之后，每步的内存占用保持不变",
    ),
    picture=Text(
        en="Keeping every draft of a letter, together with all the paper it was written on",
        zh="保留信的每一版草稿，连同用过的所有纸张",
    ),
    question=Text(
        en="Is a gradient through earlier steps wanted, or only their numbers?",
        zh="需要对之前的步求梯度，还是只要它们的数值？",
    ),
    reference=Text(
        en="People ran out of memory by it: pytorch#17568, horovod#641, brax#152",
        zh="有人因此耗尽内存：pytorch#17568、horovod#641、brax#152 等公开报告",
    ),
)
