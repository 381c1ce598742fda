"""T9: transforms on the processor take longer than everything else that loading does."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.diagnose.rules.loading import dominant
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_EVIDENCE = Text(
    en="{part:.0%} of {samples} stack samples in loading are in transforms, most of them at {where}; data_wait is {wait:.1%} of the step (ledger)",
    zh="加载中的 {samples} 个调用栈采样有 {part:.0%} 在变换中，多数位于 {where}；data_wait 占每步 {wait:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    found = dominant(facts, "transform")
    if found is None:
        return None
    loading, part, share = found
    where = loading.place("transform") or "?"
    wait = facts.share("data_wait")
    return finding(
        RULE,
        share=share,
        evidence=_EVIDENCE.say(part=part, samples=loading.total, wait=wait, where=where),
        confidence="medium",
        part=part,
        where=where.partition(" > ")[0].rpartition(" ")[0] or where,
    )


RULE = Rule(
    fault="transforms-dominate",
    catalogue=("T9",),
    layer="data",
    title=Text(
        en="Transforms are {part:.0%} of loading, and the step waits for them",
        zh="变换占加载的 {part:.0%}，训练步在等待它们",
    ),
    next_action=Text(
        en="Crop before the costly transforms, do what never changes once beforehand, or transform whole batches on the device  # {where}",
        zh="先裁剪再做昂贵的变换，不变的部分事先做一次，或在设备上按批变换  # {where}",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: transforms should hide behind the model; here they keep {share:.0%} of the step waiting",
        zh="经验线：变换应被模型计算掩盖；此处使每步 {share:.0%} 的时间在等待",
    ),
    picture=Text(
        en="Polishing each apple by hand while the press stands still",
        zh="榨汁机停着，却在一个一个地擦苹果",
    ),
    question=Text(
        en="Which of the transforms are random, and which give the same result every time?",
        zh="哪些变换是随机的，哪些每次结果都相同？",
    ),
    reference=Text(
        en="People reported 2.8 to 3.3 times as fast on a GPU, and 5 % slower once (lerobot#4627, nnUNet#3063)",
        zh="公开报告：放到 GPU 上快 2.8 到 3.3 倍，也有一例慢 5%（lerobot#4627、nnUNet#3063）",
    ),
)
