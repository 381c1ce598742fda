"""T6: more threads compute one operation than there are processors for them."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.05

_EVIDENCE = Text(
    en="torch.get_num_threads() is {threads}, the process may run on {cpus} processors; computing is {share:.1%} of the step (ledger)",
    zh="torch.get_num_threads() 为 {threads}，进程可用 {cpus} 个处理器；计算占每步 {share:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    environment = facts.evidence.environment
    if environment is None or environment.intra_op_threads is None or environment.cuda:
        return None
    threads, cpus = environment.intra_op_threads, environment.affinity_cpus
    share = facts.share("forward", "backward", "optimizer")
    if threads <= cpus or share < _MIN_SHARE:
        return None
    return finding(
        RULE,
        share=share,
        evidence=_EVIDENCE.say(threads=threads, cpus=cpus, share=share),
        confidence="medium",
        treatments=("threads",),
        threads=threads,
        cpus=cpus,
    )


RULE = Rule(
    fault="threads-over-cpus",
    catalogue=("T6",),
    layer="compute",
    title=Text(
        en="{threads} threads compute on {cpus} usable processors",
        zh="{threads} 个线程在 {cpus} 个可用处理器上计算",
    ),
    next_action=Text(
        en="torch.set_num_threads({cpus})  # or OMP_NUM_THREADS={cpus} in the environment",
        zh="torch.set_num_threads({cpus})  # 或在环境中设 OMP_NUM_THREADS={cpus}",
    ),
    find=_find,
    fact=Text(
        en="More threads compute than there are usable processors",
        zh="计算线程多于可用处理器",
    ),
    owner="platform",
    rule_of_thumb=Text(
        en="Usual line: no more computing threads than processors that the process may use: {threads} threads on {cpus} here",
        zh="经验线：计算线程数不超过进程可用的处理器数；此处为 {threads} 个线程、{cpus} 个处理器",
    ),
    picture=Text(
        en="Eight people with one hammer: most of the time goes into passing it on",
        zh="八个人共用一把锤子：时间大多花在传递锤子上",
    ),
    question=Text(
        en="Who sets OMP_NUM_THREADS or the processor affinity of this job, and for which machine?",
        zh="是谁为这个作业设置 OMP_NUM_THREADS 或处理器亲和性，又是针对哪台机器？",
    ),
    reference=Text(
        en="People reported 8 to 30 times as fast (pytorch#125547, pytorch#3021); one saw no change in speed (homr#128)",
        zh="公开报告：快 8 到 30 倍（pytorch#125547、pytorch#3021）；也有人速度没有变化（homr#128）",
    ),
)
