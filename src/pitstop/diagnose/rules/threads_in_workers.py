"""T4: each worker computes with several threads, and together they are more than the processors."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.diagnose.rules.loading import MIN_WAIT
from pitstop.messages import Text
from pitstop.records import LoaderSighting, PipelineSighting
from pitstop.records.results import Finding

__all__ = ["RULE"]

_FEWEST_BATCHES = 8
_MIN_OTHERS = 0.5  # of the loading thread's own processor time: a second thread that works half of the time
_MIN_QUEUED = 0.2  # of its time the loading thread is ready and has no processor

_EVIDENCE = Text(
    en="in {workers} workers of the loader at {where} "
    "other threads use {others:.1f} times the processor time of the thread that loads, which is ready "
    "and without a processor for {queued:.0%} of the time; {cpus} processors are usable",
    zh="{where} 处加载器的 {workers} 个工作进程中，其他线程使用的处理器时间是加载线程的 {others:.1f} 倍，"
    "而加载线程有 {queued:.0%} 的时间已就绪却没有处理器；可用处理器 {cpus} 个",
)


def _find(facts: Facts) -> Finding | None:
    wait = facts.share("data_wait")
    loaders = {loader.id: loader for loader in facts.evidence.loaders if loader.id in facts.train_loaders}
    crowded = [seen for seen in facts.evidence.pipelines if seen.loader in loaders and _is_crowded(loaders, seen)]
    if not crowded or wait < MIN_WAIT:
        return None
    seen = max(crowded, key=lambda one: one.queued_ns / one.wall_ns)
    queued = seen.queued_ns / seen.wall_ns
    where = place(loaders[seen.loader].stack, otherwise=loaders[seen.loader].dataset_class)
    return finding(
        RULE,
        share=wait * queued,
        evidence=_EVIDENCE.say(
            workers=loaders[seen.loader].num_workers,
            where=where,
            others=_others(seen),
            queued=queued,
            cpus=facts.usage.cpus,
        ),
        confidence="medium",
        where=where,
        queued=queued,
    )


def _is_crowded(loaders: dict[int, LoaderSighting], seen: PipelineSighting) -> bool:
    if loaders[seen.loader].num_workers < 2 or seen.batches < _FEWEST_BATCHES or not seen.thread_cpu_ns:
        return False
    return _others(seen) >= _MIN_OTHERS and seen.queued_ns >= _MIN_QUEUED * seen.wall_ns


def _others(seen: PipelineSighting) -> float:
    """Return the other threads' processor time per that of the loading thread, without the queue's thread that hands batches over."""
    handing = seen.handover_ns / seen.handovers * seen.batches if seen.handovers else 0.0
    return max(0.0, seen.cpu_ns - seen.thread_cpu_ns - handing) / seen.thread_cpu_ns


RULE = Rule(
    fault="threads-in-workers",
    catalogue=("T4",),
    layer="data",
    title=Text(
        en="The loader's workers compute with several threads each and wait for processors {queued:.0%} of the time",
        zh="加载器的每个工作进程都用多个线程计算，{queued:.0%} 的时间在等待处理器",
    ),
    next_action=Text(
        en="One thread per worker: cv2.setNumThreads(0) in worker_init_fn; OMP_NUM_THREADS=1, OPENBLAS_NUM_THREADS=1 in the environment  # {where}",
        zh="每个工作进程一个线程：在 worker_init_fn 中调用 cv2.setNumThreads(0)；环境变量 OMP_NUM_THREADS=1、OPENBLAS_NUM_THREADS=1  # {where}",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: workers times their threads stay within the processors; here the loading thread has none for {queued:.0%} of its time",
        zh="经验线：工作进程数乘以线程数不超过处理器数；此处加载线程有 {queued:.0%} 的时间得不到处理器",
    ),
    picture=Text(
        en="Four cooks at one stove, each with four helpers",
        zh="四位厨师共用一个灶台，每人还带着四个帮手",
    ),
    question=Text(
        en="Which library starts the threads in the workers: OpenCV, OpenMP, a BLAS, a tokenizer?",
        zh="工作进程中的线程由哪个库启动：OpenCV、OpenMP、BLAS，还是分词器？",
    ),
    reference=Text(
        en="People reported up to 10 times as fast (transferable-samplers#12, mmocr#721, pytorch#82219)",
        zh="公开报告：最多快 10 倍（transferable-samplers#12、mmocr#721、pytorch#82219）",
    ),
)
