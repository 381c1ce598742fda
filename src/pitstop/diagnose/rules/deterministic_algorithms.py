"""T26: torch may only use deterministic algorithms, of which some are several times slower on a GPU."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.3

_EVIDENCE = Text(
    en="torch.are_deterministic_algorithms_enabled() during training on {device}; forward and backward are {share:.1%} of the step (ledger)",
    zh="在 {device} 上训练时 torch.are_deterministic_algorithms_enabled() 为真；前向和反向占每步 {share:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    environment = facts.evidence.environment
    share = facts.share("forward", "backward")
    # On a CPU nearly all algorithms are deterministic anyway.
    if environment is None or not environment.deterministic or not environment.cuda or share < _MIN_SHARE:
        return None
    device = ", ".join(environment.device_names) or "cuda"
    return finding(RULE, share=share, evidence=_EVIDENCE.say(device=device, share=share), confidence="low")


RULE = Rule(
    fault="deterministic-algorithms",
    catalogue=("T26",),
    layer="compute",
    title=Text(
        en="Only deterministic algorithms are allowed, and forward and backward take {share:.0%} of each step",
        zh="只允许确定性算法，前向和反向占每步 {share:.0%}",
    ),
    next_action=Text(
        en="torch.use_deterministic_algorithms(False), unless runs must repeat bit by bit",
        zh="torch.use_deterministic_algorithms(False)，除非运行结果必须逐位重现",
    ),
    find=_find,
)
