"""The program did not come to its end, because memory ran out."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_GIB = 2**30

_EVIDENCE = Text(
    en="{ended}; the peak was {peak}",
    zh="{ended}；峰值为 {peak}",
)
_AT = Text(en="{evidence}; the backward is called at {where}", zh="{evidence}；反向的调用位于 {where}")
_BY_SYSTEM = Text(en="the kernel or a memory limit ended the process", zh="进程被内核或内存限制终止")
_DEVICE = Text(en="{size:.3g} GiB on the device", zh="设备上 {size:.3g} GiB")
_HOST = Text(en="{size:.3g} GiB of host memory", zh="主机内存 {size:.3g} GiB")
_UNKNOWN = Text(en="not seen", zh="未测到")


def _find(facts: Facts) -> Finding | None:
    ended = facts.out_of_memory
    if ended is None:
        return None
    on_device = "cuda" in ended.error.lower() or "device" in ended.error.lower()
    size = ended.peak_device_bytes if on_device else ended.peak_bytes
    peak = (_DEVICE if on_device else _HOST).say(size=size / _GIB) if size else _UNKNOWN.say()
    backward = max(facts.evidence.backwards, key=lambda one: one.operations or 0, default=None)
    said = _BY_SYSTEM.say() if ended.by_system else ended.error
    evidence = _EVIDENCE.say(ended=said, peak=peak)
    if backward is not None and backward.stack:
        evidence = _AT.say(evidence=evidence, where=place(backward.stack, otherwise="?"))
    return finding(RULE, share=0.0, evidence=evidence, confidence="high", peak=peak)


RULE = Rule(
    fault="out-of-memory",
    catalogue=(),
    layer="memory",
    title=Text(
        en="The program ran out of memory and did not come to its end",
        zh="程序内存耗尽，未能运行完成",
    ),
    next_action=Text(
        en="pitstop fit -- <the same command>: the fastest batch that fits, with gradient accumulation that keeps the batch of a step",
        zh="pitstop fit -- <同一命令>：找出放得下的最快批量，并用梯度累积保持每步的总批量",
    ),
    find=_find,
    fact=Text(
        en="The program ran out of memory and did not come to its end",
        zh="程序内存耗尽，未能运行完成",
    ),
    needs_steps=False,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: a tenth of the memory stays free, for the largest batch and for evaluation; the peak here: {peak}",
        zh="经验线：应留出十分之一的内存，供最大的批次和评估使用；此处峰值：{peak}",
    ),
    picture=Text(
        en="Loading the van until the axle breaks, instead of driving twice",
        zh="把货车装到断轴，而不是分两趟运",
    ),
    question=Text(
        en="Which part grows: the batch, the model's states, the data in memory, or something kept from step to step?",
        zh="增长的是哪一部分：批次、模型状态、内存中的数据，还是逐步保留下来的东西？",
    ),
    reference=Text(
        en="People ended there by batches too large and by graphs kept (pytorch#17568, horovod#641)",
        zh="有人因批量过大或保留计算图而至此（pytorch#17568、horovod#641）",
    ),
)
