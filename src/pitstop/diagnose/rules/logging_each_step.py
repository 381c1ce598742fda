"""T47: logging, plotting or a progress bar takes a part of every step."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.05

_CALLS = Text(
    en="logging is {share:.1%} of the steady step time (ledger); {function} is called {per_step:.2g} times per step at {where}",
    zh="日志占稳定训练步时间的 {share:.1%}（账本）；{where} 处每步调用 {function} {per_step:.2g} 次",
)
_SAMPLES = Text(
    en="logging is {share:.1%} of the steady step time (ledger, by stack samples); most of it at {where}",
    zh="日志占稳定训练步时间的 {share:.1%}（账本，按调用栈采样）；其中大部分在 {where}",
)


def _find(facts: Facts) -> Finding | None:
    share = facts.share("logging")
    if share < _MIN_SHARE:
        return None
    loggers = tuple(call for call in facts.evidence.calls if not call.function.startswith(("gc.", "torch.")))
    if 2 * facts.share_of(loggers) >= share:
        most = max(loggers, key=lambda call: call.total_ns)
        where = place(most.stack, otherwise=most.function)
        evidence = _CALLS.say(share=share, function=most.function, per_step=most.per_step, where=where)
    else:
        where = facts.hottest("logging") or "?"
        evidence = _SAMPLES.say(share=share, where=where)
    return finding(RULE, share=share, evidence=evidence, confidence="high", where=where)


RULE = Rule(
    fault="logging-each-step",
    catalogue=("T47",),
    layer="environment",
    title=Text(
        en="Logging takes {share:.0%} of the training's time",
        zh="写日志占训练时间的 {share:.0%}",
    ),
    next_action=Text(
        en="if step % 50 == 0:  # around {where}; fewer points in the log, the same training",
        zh="if step % 50 == 0:  # 加在 {where} 处；日志点变少，训练不变",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: logging should stay below 5 % of the time; here {share:.0%}",
        zh="经验线：日志应低于时间的 5%；此处 {share:.0%}",
    ),
    picture=Text(
        en="A runner who stops at every metre to write down the time",
        zh="跑者每跑一米就停下来记一次时间",
    ),
    question=Text(
        en="At what interval does anybody look at these curves?",
        zh="这些曲线实际上多久有人看一次？",
    ),
    reference=Text(
        en="People reported up to twice as fast (wandb#8666, Lightning#3050, nnue-pytorch#441)",
        zh="公开报告：最多快一倍（wandb#8666、Lightning#3050、nnue-pytorch#441）",
    ),
)
