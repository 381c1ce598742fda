"""T1: batches are loaded in the training process itself, so that nothing computes meanwhile."""

from pitstop.diagnose.rules.contract import Facts, Rule, ceiling
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

# Below this a perfect loader would gain less than the margin that a verdict needs, with room for what workers cost.
_MIN_SHARE = 0.05

_TITLE = Text(
    en="The data loader works in the training process: {share:.0%} of each step waits for it",
    zh="数据加载器在训练进程内工作：每步 {share:.0%} 的时间在等待数据",
)
_ACTION = Text(
    en="DataLoader(..., num_workers=2, persistent_workers=True)  # {where}",
    zh="DataLoader(..., num_workers=2, persistent_workers=True)  # {where}",
)
_EVIDENCE = Text(
    en="data_wait is {share:.1%} of the steady step time (ledger); num_workers=0 at {where}",
    zh="data_wait 占稳定训练步时间的 {share:.1%}（账本）；{where} 处 num_workers=0",
)


def _find(facts: Facts) -> Finding | None:
    share = facts.ledger.share("data_wait")
    alone = [
        loader for loader in facts.evidence.loaders if loader.id in facts.train_loaders and loader.num_workers == 0
    ]
    if not alone or share < _MIN_SHARE or any(loader.iterable for loader in alone):
        return None
    site = alone[0].stack[-1] if alone[0].stack else None
    where = f"{site.path}:{site.line}" if site else alone[0].dataset_class
    return Finding(
        fault=RULE.fault,
        catalogue=RULE.catalogue,
        layer=RULE.layer,
        share=share,
        ceiling_speedup=ceiling(share),
        confidence="high" if site else "medium",
        evidence=(_EVIDENCE.say(share=share, where=where),),
        treatments=("loader-workers",),
        title=_TITLE.say(share=share),
        next_action=_ACTION.say(where=where),
    )


RULE = Rule(
    fault="loader-in-main-process",
    catalogue=("T1",),
    layer="data",
    title=_TITLE,
    next_action=_ACTION,
    find=_find,
)
