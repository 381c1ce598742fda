"""T8: samples are decoded for longer than everything else that loading does."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.diagnose.rules.loading import dominant
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_EVIDENCE = Text(
    en="{part:.0%} of {samples} stack samples in loading are in a decoder, most of them at {where}; data_wait is {wait:.1%} of the step (ledger)",
    zh="加载中的 {samples} 个调用栈采样有 {part:.0%} 在解码器中，多数位于 {where}；data_wait 占每步 {wait:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    found = dominant(facts, "decode")
    if found is None:
        return None
    loading, part, share = found
    where = loading.place("decode") or "?"
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
    fault="decode-dominates",
    catalogue=("T8",),
    layer="data",
    title=Text(
        en="Decoding is {part:.0%} of loading, and the step waits for it",
        zh="解码占加载的 {part:.0%}，训练步在等待它",
    ),
    next_action=Text(
        en="Decode fewer pixels: Image.draft(mode, size) before resizing a JPEG, or store the data resized once  # {where}",
        zh="减少解码的像素：缩放 JPEG 之前调用 Image.draft(mode, size)，或事先缩放好再存储  # {where}",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: decoding should hide behind the model; here it keeps {share:.0%} of the step waiting",
        zh="经验线：解码应被模型计算掩盖；此处使每步 {share:.0%} 的时间在等待",
    ),
    picture=Text(
        en="Unpacking whole suitcases every morning to take out one shirt",
        zh="每天早上打开整只行李箱，只为拿出一件衬衫",
    ),
    question=Text(
        en="How much larger are the stored images than what the model sees?",
        zh="存储的图像比模型实际看到的大多少？",
    ),
    reference=Text(
        en="People reported 16 to 8 ms per image (Pillow#4705, rf-detr#1473)",
        zh="公开报告：每张图像从 16 毫秒降到 8 毫秒（Pillow#4705、rf-detr#1473）",
    ),
)
