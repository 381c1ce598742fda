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
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: never inside the training loop; the calls alone are {share:.0%} of the step here",
        zh="经验线：训练循环内不应清空缓存；此处仅调用本身就占每步 {share:.0%}",
    ),
    picture=Text(
        en="Giving the rented tools back every evening and queueing for them every morning",
        zh="每天晚上归还租来的工具，第二天早上再排队去租",
    ),
    question=Text(
        en="Does anything else on this GPU need the memory in between?",
        zh="这块 GPU 上中途是否有别的程序需要这些显存？",
    ),
    reference=Text(
        en="One report: 108 s down to 45 s (peft#2894); see transformers#31372 and OneTrainer#1459",
        zh="公开报告：由 108 秒降到 45 秒（peft#2894），另见 transformers#31372、OneTrainer#1459",
    ),
)
