"""T16: the host reads a value from the device in the loop, and waits until the device has computed it."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.05
_GAP = "python/sync"

_EVIDENCE = Text(
    en="the host waits in reads from the device for {share:.1%} of the steady step time (ledger, by stack samples), most of it at {where}; "
    "part of that is work of the device that some other place would wait for",
    zh="主机等待从设备读取的时间占稳定训练步的 {share:.1%}（账本，按调用栈采样），大部分在 {where}；其中一部分是换个地方也要等的设备工作",
)


def _find(facts: Facts) -> Finding | None:
    environment = facts.evidence.environment
    if environment is None or not environment.cuda:  # on a CPU reading a value is free
        return None
    where = facts.hottest(_GAP)
    waited = facts.share_of(facts.called("torch.cuda.synchronize", "torch.accelerator.synchronize"))  # another rule's
    share = facts.share("sync") - waited
    if where is None or share < _MIN_SHARE:
        return None
    return finding(RULE, share=share, evidence=_EVIDENCE.say(share=share, where=where), confidence="low", where=where)


RULE = Rule(
    fault="blocking-reads",
    catalogue=("T16",),
    layer="compute",
    title=Text(
        en="Reading a value from the device makes the host wait for {share:.0%} of each step",
        zh="从设备读取数值使主机在每步中等待 {share:.0%} 的时间",
    ),
    next_action=Text(
        en="Sum losses as tensors and read them every 50 steps: total += loss.detach()  # {where}",
        zh="把损失以张量累加，每 50 步读取一次：total += loss.detach()  # {where}",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: read values every 50 or 100 steps, not in each; the host waits {share:.0%} of the step here",
        zh="经验线：每 50 或 100 步读取一次，而不是每步；此处主机等待占每步 {share:.0%}",
    ),
    picture=Text(
        en="Opening the oven every minute to see whether the cake is done",
        zh="每分钟打开一次烤箱，看蛋糕好了没有",
    ),
    question=Text(
        en="Which of the values that are read in each step does anybody use in each step?",
        zh="每步读取的数值中，哪些真的每步都有人用？",
    ),
    reference=Text(
        en="People reported 5 to 50 % (torchtune#522, fvdb#144, OneTrainer#1608)",
        zh="公开报告：5% 到 50%（torchtune#522、fvdb#144、OneTrainer#1608）",
    ),
)
