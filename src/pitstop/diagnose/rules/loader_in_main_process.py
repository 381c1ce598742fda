"""T1: batches are loaded in the training process itself, so that nothing computes meanwhile."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.diagnose.rules.in_memory_tensors import TENSORS
from pitstop.diagnose.rules.remedies import remedy
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

# Below this a perfect loader would gain less than the margin that a verdict needs, with room for what workers cost.
_MIN_SHARE = 0.05

_EVIDENCE = Text(
    en="data_wait is {share:.1%} of the steady step time (ledger); num_workers=0 at {where}",
    zh="data_wait 占稳定训练步时间的 {share:.1%}（账本）；{where} 处 num_workers=0",
)


def _find(facts: Facts) -> Finding | None:
    share = facts.share("data_wait")
    alone = [
        loader for loader in facts.evidence.loaders if loader.id in facts.train_loaders and loader.num_workers == 0
    ]
    if not alone or share < _MIN_SHARE or any(loader.iterable for loader in alone):
        return None
    if all(loader.dataset_class == TENSORS for loader in alone):  # workers would have nothing to read: another fault
        return None
    where = place(alone[0].stack, otherwise=alone[0].dataset_class)
    return finding(
        RULE,
        share=share,
        evidence=_EVIDENCE.say(share=share, where=where),
        confidence="high" if alone[0].stack else "medium",
        treatments=("loader-workers",),
        where=where,
        remedy=remedy(alone[0].library, "workers", otherwise="DataLoader(..., num_workers=2, persistent_workers=True)"),
    )


RULE = Rule(
    fault="loader-in-main-process",
    catalogue=("T1",),
    layer="data",
    title=Text(
        en="The data loader works in the training process: {share:.0%} of each step waits for it",
        zh="数据加载器在训练进程内工作：每步 {share:.0%} 的时间在等待数据",
    ),
    next_action=Text(
        en="{remedy}  # {where}",
        zh="{remedy}  # {where}",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: waiting for data above 30 % of the step is worth a look; here {share:.0%}",
        zh="经验线：等待数据超过每步的 30% 就值得看；此处为 {share:.0%}",
    ),
    picture=Text(
        en="One cook who also does the shopping: while the ingredients are fetched, the stove is cold",
        zh="一个厨师自己跑去买菜：买菜的时候，灶台是凉的",
    ),
    question=Text(
        en="Does anything in the dataset forbid loading in other processes (open files, a global state, a GPU tensor)?",
        zh="数据集里有没有不能放到其他进程中的东西（打开的文件、全局状态、GPU 张量）？",
    ),
    reference=Text(
        en="People reported up to 10 times as fast with workers (transformers#20581)",
        zh="公开报告：启用工作进程后最多快 10 倍（transformers#20581）",
    ),
)
