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
)
