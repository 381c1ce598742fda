"""T32: torch.compile compiles the same function again and again, because something that it took for constant is not."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.03  # of compiling, in the steady part of the run
_LIMIT = 8  # torch._dynamo.config.recompile_limit: after so many the function runs uncompiled

_EVIDENCE = Text(
    en="{count} guards failed for the function at {where} (torch._dynamo), the last: {reason}; "
    "compiling is {share:.1%} of the steady step time (ledger)",
    zh="{where} 处的函数有 {count} 次守卫失败（torch._dynamo），最后一次：{reason}；编译占稳定训练步时间的 {share:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    if not facts.evidence.recompiles:
        return None
    most = max(facts.evidence.recompiles, key=lambda seen: seen.count)
    share = facts.share("compile")
    falls_back = most.count >= _LIMIT
    if share < _MIN_SHARE and not falls_back:  # one with dynamic shapes after the first with fixed ones is how it works
        return None
    where = place(most.stack, otherwise="?")
    # What runs uncompiled at the limit is slower for good: no more can be said than that it computes.
    removable = max(share, facts.share("forward", "backward", "compile")) if falls_back else share
    return finding(
        RULE,
        share=share,
        evidence=_EVIDENCE.say(count=most.count, where=where, reason=most.reason, share=share),
        confidence="low" if falls_back and share < _MIN_SHARE else "high",
        removable=removable,
        where=where,
        count=most.count,
    )


RULE = Rule(
    fault="recompiles",
    catalogue=("T32",),
    layer="compute",
    title=Text(
        en="torch.compile has compiled the function at {where} again, {count} guards failed",
        zh="torch.compile 反复编译 {where} 处的函数，{count} 次守卫失败",
    ),
    next_action=Text(
        en="torch._dynamo.mark_dynamic(tensor, 0) or drop_last=True for sizes that vary; pass numbers that change as tensors",
        zh="对变化的尺寸用 torch._dynamo.mark_dynamic(tensor, 0) 或 drop_last=True；变化的数值以张量传入",
    ),
    find=_find,
    fact=Text(
        en="torch.compile compiles the same function again and again",
        zh="torch.compile 反复编译同一个函数",
    ),
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: one compilation per function, two where sizes vary; {count} guards failed here",
        zh="经验线：每个函数编译一次，尺寸变化时两次；此处有 {count} 次守卫失败",
    ),
    picture=Text(
        en="Tailoring a new suit for every guest instead of making one with a belt",
        zh="每来一位客人就重新裁一套衣服，而不是做一件可调的",
    ),
    question=Text(
        en="Which sizes or numbers change from batch to batch, and must they?",
        zh="哪些尺寸或数值逐批变化？必须变化吗？",
    ),
    reference=Text(
        en="People reported large losses, and eager speed for good after 8 of them (pytorch#121369, dion#23)",
        zh="公开报告：损失很大，8 次之后就永久退回即时模式（pytorch#121369、dion#23）",
    ),
)
