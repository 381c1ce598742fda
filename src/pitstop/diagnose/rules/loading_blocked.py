"""T10: whoever loads is mostly asleep: small files, a slow disk, a network."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.diagnose.rules.loading import MIN_WAIT
from pitstop.messages import Text
from pitstop.records import PipelineSighting
from pitstop.records.results import Finding

__all__ = ["RULE"]

_FEWEST_BATCHES = 8
_MIN_BLOCKED = 0.5  # more than it works: a faster processor, or fewer transforms, could not even halve the wait

_EVIDENCE = Text(
    en="in {batches} measured batches of the loader at {where} the loading thread was neither running nor ready to run for {blocked:.0%} of the time "
    "({spent:.3g} s); data_wait is {wait:.1%} of the step (ledger)",
    zh="{where} 处加载器的 {batches} 个被测批次中，加载线程有 {blocked:.0%} 的时间既未运行也未就绪（{spent:.3g} 秒）；"
    "data_wait 占每步 {wait:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    wait = facts.share("data_wait")
    found = [(blocked, seen) for seen in facts.evidence.pipelines if (blocked := _blocked(facts, seen)) is not None]
    if not found or wait < MIN_WAIT:
        return None
    blocked, seen = max(found, key=lambda item: item[0])
    loader = next((loader for loader in facts.evidence.loaders if loader.id == seen.loader), None)
    if loader is None or blocked < _MIN_BLOCKED:
        return None
    where = place(loader.stack, otherwise=loader.dataset_class)
    return finding(
        RULE,
        share=wait * blocked,
        evidence=_EVIDENCE.say(
            batches=seen.batches, where=where, blocked=blocked, spent=blocked * seen.wall_ns / 1e9, wait=wait
        ),
        confidence="medium",
        blocked=blocked,
        where=where,
    )


def _blocked(facts: Facts, seen: PipelineSighting) -> float | None:
    """Return the share of the time in which the loading thread slept while its process did little; None where that is not known.

    A kernel that does not say how long a thread waited for a processor has 0 there. A busy process is one whose other threads load.
    """
    if seen.loader not in facts.train_loaders or seen.batches < _FEWEST_BATCHES or not seen.wall_ns:
        return None
    if not seen.queued_ns or seen.cpu_ns > (1 - _MIN_BLOCKED) * seen.wall_ns:
        return None
    return max(0.0, 1 - (seen.thread_cpu_ns + seen.queued_ns) / seen.wall_ns)


RULE = Rule(
    fault="loading-blocked",
    catalogue=("T10",),
    layer="data",
    title=Text(
        en="Loading sleeps {blocked:.0%} of its time, waiting for storage or a network",
        zh="加载有 {blocked:.0%} 的时间在休眠，等待存储或网络",
    ),
    next_action=Text(
        en="More workers overlap the waits; else copy the data to a local disk, pack small files into few large ones, or cache them  # {where}",
        zh="更多工作进程可以重叠等待；否则把数据复制到本地磁盘、将小文件打包成少数大文件，或加以缓存  # {where}",
    ),
    find=_find,
    owner="platform",
    rule_of_thumb=Text(
        en="Usual line: loading from a local disk works nearly all of the time; here it sleeps {blocked:.0%}",
        zh="经验线：从本地磁盘加载时几乎一直在工作；此处有 {blocked:.0%} 在休眠",
    ),
    picture=Text(
        en="A cook who fetches every potato from the cellar by itself",
        zh="厨师每次只从地窖里取一个土豆",
    ),
    question=Text(
        en="Where does the data lie, and how many files does one batch open?",
        zh="数据存放在哪里？一个批次要打开多少文件？",
    ),
    reference=Text(
        en="People reported 10 times as fast after staging or sharding (pytracking#121, horovod#824, DALI#1325)",
        zh="公开报告：预先搬运或分片后快 10 倍（pytracking#121、horovod#824、DALI#1325）",
    ),
)
