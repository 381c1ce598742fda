"""T21: /dev/shm, through which workers hand batches over, is nearly full."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIB = 2**20
_ROUNDS = 1  # what all workers prefetch once more (an evaluation loader, a longer batch) would no longer fit

_EVIDENCE = Text(
    en="the shared memory (/dev/shm) had {free:.4g} of {total:.4g} MiB free at the least; "
    "{workers} workers of the loader at {where} keep up to {needed:.4g} MiB of batches there",
    zh="共享内存（/dev/shm）最少时剩余 {free:.4g} MiB（共 {total:.4g} MiB）；"
    "{where} 处加载器的 {workers} 个工作进程最多在其中保留 {needed:.4g} MiB 的批次",
)


def _find(facts: Facts) -> Finding | None:
    census = {seen.loader: seen for seen in facts.evidence.census if seen.batches and seen.batch_bytes}
    loaders = {loader.id: loader for loader in facts.evidence.loaders if loader.num_workers}
    for seen in facts.evidence.pipelines:
        free, total = seen.shared_free_bytes, seen.shared_total_bytes
        loader, batches = loaders.get(seen.loader), census.get(seen.loader)
        if free is None or not total or loader is None or batches is None:
            continue
        ahead = loader.num_workers * (loader.prefetch_factor or 2)
        needed = ahead * batches.batch_bytes / batches.batches
        if free < _ROUNDS * needed:
            where = place(loader.stack, otherwise=loader.dataset_class)
            evidence = _EVIDENCE.say(
                free=free / _MIB, total=total / _MIB, needed=needed / _MIB, workers=loader.num_workers, where=where
            )
            return finding(
                RULE,
                share=0.0,
                evidence=evidence,
                confidence="medium",
                where=where,
                free=free / _MIB,
                needed=needed / _MIB,
            )
    return None


RULE = Rule(
    fault="shared-memory-low",
    catalogue=("T21",),
    layer="memory",
    title=Text(
        en="Shared memory is nearly full: the next larger batch ends the workers with a bus error",
        zh="共享内存几乎用尽：下一个更大的批次会使工作进程因总线错误而终止",
    ),
    next_action=Text(
        en="docker run --shm-size=... (or --ipc=host); or a smaller prefetch_factor or num_workers  # {where}",
        zh="docker run --shm-size=...（或 --ipc=host）；或减小 prefetch_factor、num_workers  # {where}",
    ),
    find=_find,
    fact=Text(
        en="Shared memory is nearly full: the next larger batch ends the workers with a bus error",
        zh="共享内存几乎用尽：下一个更大的批次会使工作进程因总线错误而终止",
    ),
    owner="platform",
    rule_of_thumb=Text(
        en="Usual line: room for what all workers prefetch, twice over; here {free:.4g} MiB are free, {needed:.4g} MiB are one such round",
        zh="经验线：能容纳所有工作进程预取量的两倍；此处剩余 {free:.4g} MiB，一轮预取为 {needed:.4g} MiB",
    ),
    picture=Text(
        en="A serving hatch with no room left for the next plate",
        zh="出菜口已经没有地方放下一个盘子",
    ),
    question=Text(
        en="Does the program run in a container with the default 64 MiB of shared memory?",
        zh="程序是否运行在只有默认 64 MiB 共享内存的容器中？",
    ),
    reference=Text(
        en="People's workers were ended by it: pytorch#5040, pytorch#108861",
        zh="有人的工作进程因此被终止：pytorch#5040、pytorch#108861",
    ),
)
