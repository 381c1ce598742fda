"""T27: a debugger, profiler or coverage tool is called for every line or call of the program."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]


_EVIDENCE = Text(
    en="sys.settrace or sys.setprofile of the training thread is {tool}; python is {share:.1%} of the step (ledger)",
    zh="训练线程的 sys.settrace 或 sys.setprofile 为 {tool}；python 占每步 {share:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    environment = facts.evidence.environment
    if environment is None or environment.tracer is None:
        return None
    share = facts.share("python")
    return finding(
        RULE,
        share=share,
        evidence=_EVIDENCE.say(tool=environment.tracer, share=share),
        confidence="high",
        removable=1.0,  # it slows down everything that is Python, inside the other categories too
        tool=environment.tracer,
    )


RULE = Rule(
    fault="tracer-attached",
    catalogue=("T27",),
    layer="environment",
    title=Text(
        en="A tracing tool ({tool}) is called for every line or function of the program",
        zh="跟踪工具（{tool}）在程序的每一行或每次调用时被调用",
    ),
    next_action=Text(
        en="Run without it: debugger, coverage and cProfile slow Python down several times",
        zh="去掉它再运行：调试器、coverage 和 cProfile 会让 Python 慢几倍",
    ),
    find=_find,
    fact=Text(
        en="A tracing tool is called for every line or function of the program",
        zh="跟踪工具在程序的每一行或每次调用时被调用",
    ),
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: no tracer in a run whose speed matters; other Python is {share:.0%} of the step here",
        zh="经验线：在意速度的运行不应挂跟踪工具；此处其他 Python 代码占每步 {share:.0%}",
    ),
    picture=Text(
        en="Somebody who asks at every step you take where you are going",
        zh="每走一步都有人来问你要去哪里",
    ),
    question=Text(
        en="Was this run started from a debugger, with coverage, or under a profiler by habit?",
        zh="这次运行是习惯性地从调试器、coverage 或剖析器里启动的吗？",
    ),
    reference=Text(
        en="One report: 187 ms per step with a profiler left on, 6 ms without (pytorch#134191)",
        zh="公开报告：忘关剖析器时每步 187 毫秒，关闭后 6 毫秒（pytorch#134191）",
    ),
)
