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
    fact=Text(
        en="Only deterministic algorithms are allowed",
        zh="只允许确定性算法",
    ),
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: deterministic only while a run has to repeat bit by bit; forward and backward are {share:.0%} of the step here",
        zh="经验线：只有需要逐位重现时才开启；此处前向和反向占每步 {share:.0%}",
    ),
    picture=Text(
        en="Everybody has to leave the building by one door, one after the other, so that the order is always the same",
        zh="为了每次顺序都一样，所有人只能从同一扇门一个接一个地出去",
    ),
    question=Text(
        en="Must this run repeat bit by bit, or was the switch copied with a seeding helper?",
        zh="这次运行必须逐位重现吗？还是随设种子的代码一起抄来的？",
    ),
    reference=Text(
        en="People reported 2.4 times (espnet#3041) and 10 to 80 times for single operations (pytorch#28777)",
        zh="公开报告：2.4 倍（espnet#3041），个别算子 10 到 80 倍（pytorch#28777）",
    ),
)
