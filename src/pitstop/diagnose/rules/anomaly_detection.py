"""T25: autograd's anomaly detection is on, which keeps a traceback per operation and looks for NaN in every gradient."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]


_EVIDENCE = Text(
    en="torch.is_anomaly_enabled() during training; forward and backward are {share:.1%} of the step (ledger)",
    zh="训练时 torch.is_anomaly_enabled() 为真；前向和反向占每步 {share:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    environment = facts.evidence.environment
    if environment is None or not environment.anomaly_detection:
        return None
    share = facts.share("forward", "backward")
    return finding(
        RULE, share=share, evidence=_EVIDENCE.say(share=share), confidence="high", treatments=("anomaly-off",)
    )


RULE = Rule(
    fault="anomaly-detection",
    catalogue=("T25",),
    layer="compute",
    title=Text(
        en="Anomaly detection is on: every operation of forward and backward pays for it",
        zh="异常检测处于开启状态：前向和反向的每个操作都为此付出代价",
    ),
    next_action=Text(
        en="torch.autograd.set_detect_anomaly(False)  # on only while a NaN is hunted",
        zh="torch.autograd.set_detect_anomaly(False)  # 只在查找 NaN 时开启",
    ),
    find=_find,
    fact=Text(
        en="Anomaly detection is on",
        zh="异常检测处于开启状态",
    ),
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: off, except while a NaN is being hunted; forward and backward are {share:.0%} of the step here",
        zh="经验线：除查找 NaN 之外应关闭；此处前向和反向占每步 {share:.0%}",
    ),
    picture=Text(
        en="Photographing every screw while taking an engine apart, long after the fault was found",
        zh="故障早已找到，拆发动机时却还给每颗螺丝拍照",
    ),
    question=Text(
        en="Is somebody hunting a NaN with this run, or was the switch left on?",
        zh="是有人正用这次运行查找 NaN，还是忘了关？",
    ),
    reference=Text(
        en="People reported 1.5 to 3 times as fast without it (nerf-pytorch#42, Lightning#12344)",
        zh="公开报告：关闭后快 1.5 到 3 倍（nerf-pytorch#42、Lightning#12344）",
    ),
)
