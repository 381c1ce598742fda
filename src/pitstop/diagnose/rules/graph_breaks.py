"""T33: torch.compile ends its graphs in the middle of the model, at operations that it cannot trace."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.3

_EVIDENCE = Text(
    en="{count} graph breaks in {places} places (torch._dynamo), the first at {where}: {reason}; "
    "forward and backward are {share:.1%} of the step (ledger)",
    zh="{places} 处共 {count} 次图中断（torch._dynamo），第一处在 {where}：{reason}；前向和反向占每步 {share:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    root = facts.evidence.project_root.rstrip("/") + "/"
    own = [seen for seen in facts.evidence.graph_breaks if seen.stack and seen.stack[-1].path.startswith(root)]
    share = facts.share("forward", "backward")
    if not own or share < _MIN_SHARE:
        return None
    where = place(own[0].stack, otherwise="?")
    evidence = _EVIDENCE.say(
        count=sum(seen.count for seen in own), places=len(own), where=where, reason=own[0].reason, share=share
    )
    return finding(RULE, share=share, evidence=evidence, confidence="low", where=where)


RULE = Rule(
    fault="graph-breaks",
    catalogue=("T33",),
    layer="compute",
    title=Text(
        en="torch.compile breaks its graph at {where}",
        zh="torch.compile 的计算图在 {where} 处中断",
    ),
    next_action=Text(
        en="Keep prints, .item() and branches on tensor values out of the compiled part; torch.compile(..., fullgraph=True) names each of them",
        zh="编译部分中不要有 print、.item() 和依赖张量值的分支；torch.compile(..., fullgraph=True) 会逐一指出",
    ),
    find=_find,
    fact=Text(
        en="torch.compile breaks its graph",
        zh="torch.compile 的计算图发生中断",
    ),
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: no graph break inside the model; forward and backward are {share:.0%} of the step here",
        zh="经验线：模型内部不应有图中断；此处前向和反向占每步 {share:.0%}",
    ),
    picture=Text(
        en="A motorway with a traffic light every few kilometres",
        zh="每隔几公里就有一个红绿灯的高速公路",
    ),
    question=Text(
        en="Is what breaks the graph (a print, an .item(), a branch on a value) needed in every step?",
        zh="造成中断的代码（print、.item()、依赖数值的分支）每步都需要吗？",
    ),
    reference=Text(
        en="People reported 0.5 times as fast with breaks, 1.6 to 1.9 times without (aimnetcentral#109, contrastors#83)",
        zh="公开报告：有中断时只有 0.5 倍，消除后 1.6 到 1.9 倍（aimnetcentral#109、contrastors#83）",
    ),
)
