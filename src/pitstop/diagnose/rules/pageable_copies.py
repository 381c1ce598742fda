"""T15: batches are copied to the device from memory that the system may move."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.05  # less could not be confirmed at the margin of a verdict

_EVIDENCE = Text(
    en="copies to the device are {share:.1%} of the step (stack samples in no event), the hottest at {line}; "
    "the loader at {where} has pin_memory=False",
    zh="向设备的拷贝占每步 {share:.1%}（事件之外的栈采样），最热处在 {line}；{where} 处的加载器为 pin_memory=False",
)


def _find(facts: Facts) -> Finding | None:
    environment, share = facts.evidence.environment, facts.share("host_to_device")
    pageable = [one for one in facts.evidence.loaders if one.id in facts.train_loaders and not one.pin_memory]
    line = facts.hottest("host_to_device")
    if environment is None or not environment.cuda or not pageable or line is None or share < _MIN_SHARE:
        return None
    where = place(pageable[0].stack, otherwise=pageable[0].dataset_class)
    return finding(
        RULE,
        share=share,
        evidence=_EVIDENCE.say(share=share, line=line, where=where),
        confidence="medium",
        treatments=("pin-memory", "non-blocking"),
        where=where,
        line=line,
    )


RULE = Rule(
    fault="pageable-copies",
    catalogue=("T15",),
    layer="data",
    title=Text(
        en="Copies to the device take {share:.0%} of each step, from memory that is not pinned",
        zh="向设备的拷贝占每步 {share:.0%}，且源内存未锁页",
    ),
    next_action=Text(
        en="DataLoader(..., pin_memory=True)  # {where}, and .to(device, non_blocking=True)  # {line}",
        zh="DataLoader(..., pin_memory=True)  # {where}，并使用 .to(device, non_blocking=True)  # {line}",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: copies hide behind computing; here the program waits for them {share:.0%} of the step",
        zh="经验线：拷贝应被计算掩盖；此处每步有 {share:.0%} 在等待拷贝",
    ),
    picture=Text(
        en="Repacking every parcel at the door before it may go into the van",
        zh="每个包裹装车之前都要在门口重新打包",
    ),
    question=Text(
        en="Does anything touch the batch between the loader and the copy, so that pinning is lost?",
        zh="加载器与拷贝之间是否还有操作使锁页失效？",
    ),
    reference=Text(
        en="People reported 0.03 s down to 0.014 s (pytorch#16901); pinning was slower for others (allennlp#4670)",
        zh="公开报告：由 0.03 秒降到 0.014 秒（pytorch#16901）；也有人锁页后更慢（allennlp#4670）",
    ),
)
