"""T23: the program gives the device's cached memory back in every step, and asks for it again in the next."""

from pitstop.diagnose.rules.collections_each_step import EACH_STEP
from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.03  # of the calls alone; that memory is asked for anew comes on top and is not seen here

_EVIDENCE = Text(
    en="torch.cuda.empty_cache() at {where} runs {per_step:.2g} times per step and takes {share:.1%} of it (timed), "
    "and the step after it allocates from the driver again",
    zh="{where} 处的 torch.cuda.empty_cache() 每步执行 {per_step:.2g} 次，占每步 {share:.1%}（实测），且下一步要重新向驱动申请显存",
)


def _find(facts: Facts) -> Finding | None:
    calls = tuple(call for call in facts.called("torch.cuda.empty_cache") if call.per_step >= EACH_STEP)
    share = facts.share_of(calls)
    if share < _MIN_SHARE:
        return None
    where = place(calls[0].stack, otherwise="?")
    evidence = _EVIDENCE.say(where=where, per_step=calls[0].per_step, share=share)
    return finding(
        RULE, share=share, evidence=evidence, confidence="high", treatments=("empty-cache-off",), where=where
    )


RULE = Rule(
    fault="caches-emptied-each-step",
    catalogue=("T23",),
    layer="memory",
    title=Text(
        en="The device's memory cache is emptied in every step, which takes {share:.0%} of it",
        zh="每步清空显存缓存，占每步 {share:.0%}",
    ),
    next_action=Text(
        en="Remove torch.cuda.empty_cache() at {where}: it frees nothing that the program could not use again",
        zh="删除 {where} 处的 torch.cuda.empty_cache()：它释放的显存程序本来就能再次使用",
    ),
    find=_find,
)
