"""T2: more loader workers than processors, which take each other's."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.diagnose.rules.loading import MIN_WAIT
from pitstop.messages import Text
from pitstop.records import PipelineSighting
from pitstop.records.results import Finding

__all__ = ["RULE"]

_FEWEST_BATCHES = 8
_MIN_QUEUED = 0.2  # of its time a worker is ready and has no processor; as for threads in workers
_MOST_OTHERS = 0.5  # of its processor time in other threads: above, their number is another fault

_EVIDENCE = Text(
    en="{workers} workers of the loader at {where} on {cpus} usable processors; in {batches} measured batches they were ready and without a "
    "processor for {queued:.0%} of the time; data_wait is {wait:.1%} of the step (ledger)",
    zh="{where} 处的加载器有 {workers} 个工作进程，可用处理器 {cpus} 个；在 {batches} 个被测批次中，它们有 {queued:.0%} 的时间已就绪却没有处理器；"
    "data_wait 占每步 {wait:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    wait, cpus = facts.share("data_wait"), facts.usage.cpus
    loaders = {
        loader.id: loader
        for loader in facts.evidence.loaders
        if loader.id in facts.train_loaders and loader.num_workers > max(1, cpus)
    }
    queued = [
        (one.queued_ns / one.wall_ns, one) for one in facts.evidence.pipelines if one.loader in loaders and _counts(one)
    ]
    if not queued or wait < MIN_WAIT:
        return None
    share, seen = max(queued, key=lambda item: item[0])
    if share < _MIN_QUEUED:
        return None
    loader = loaders[seen.loader]
    where = place(loader.stack, otherwise=loader.dataset_class)
    evidence = _EVIDENCE.say(
        workers=loader.num_workers, where=where, cpus=cpus, batches=seen.batches, queued=share, wait=wait
    )
    return finding(
        RULE,
        share=wait * share,
        evidence=evidence,
        confidence="medium",
        treatments=("loader-workers",),
        workers=loader.num_workers,
        cpus=cpus,
        where=where,
    )


def _counts(seen: PipelineSighting) -> bool:
    """Tell whether enough was measured, and what crowds is the number of workers, not of threads in each."""
    others = seen.cpu_ns - seen.thread_cpu_ns
    return seen.batches >= _FEWEST_BATCHES and bool(seen.wall_ns) and others < _MOST_OTHERS * seen.thread_cpu_ns


RULE = Rule(
    fault="too-many-workers",
    catalogue=("T2",),
    layer="data",
    title=Text(
        en="{workers} loader workers share {cpus} processors and wait for one",
        zh="{workers} 个加载工作进程争用 {cpus} 个处理器",
    ),
    next_action=Text(
        en="DataLoader(..., num_workers={cpus})  # {where}; then fewer, as long as the step does not wait longer",
        zh="DataLoader(..., num_workers={cpus})  # {where}；在等待不变长的前提下继续减少",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: no more workers than processors; here {workers} on {cpus}",
        zh="经验线：工作进程数不超过处理器数；此处 {cpus} 个处理器上有 {workers} 个",
    ),
    picture=Text(
        en="More cooks than places at the stove: they queue, and each needs a table",
        zh="厨师比灶台还多：大家排队，每人还要占一张桌子",
    ),
    question=Text(
        en="Was the number of workers copied from a larger machine?",
        zh="工作进程数是不是从更大的机器上照搬来的？",
    ),
    reference=Text(
        en="People reported 446 against 92 samples a second with fewer (SPDL#303)",
        zh="公开报告：减少后每秒 446 个样本，原为 92 个（SPDL#303）",
    ),
)
