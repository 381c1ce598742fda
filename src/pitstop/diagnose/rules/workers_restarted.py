"""T3: the loader's workers are started anew for each epoch, and the training waits for them."""

from pitstop.diagnose.rules.contract import Facts, Rule, ceiling
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.05

_TITLE = Text(
    en="Loader workers are started again each epoch; waiting for data is {share:.0%} of the step",
    zh="数据加载器的工作进程每个 epoch 重新启动；等待数据占训练步的 {share:.0%}",
)
_ACTION = Text(
    en="DataLoader(..., persistent_workers=True)  # {where}",
    zh="DataLoader(..., persistent_workers=True)  # {where}",
)
_EVIDENCE = Text(
    en="num_workers={workers} without persistent_workers at {where}; data_wait is {share:.1%} (ledger)",
    zh="{where} 处 num_workers={workers} 且未设 persistent_workers；data_wait 占 {share:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    share = facts.ledger.share("data_wait")
    restarted = [
        loader
        for loader in facts.evidence.loaders
        if loader.id in facts.train_loaders and loader.num_workers and not loader.persistent_workers
    ]
    if not restarted or share < _MIN_SHARE:
        return None
    loader = restarted[0]
    site = loader.stack[-1] if loader.stack else None
    where = f"{site.path}:{site.line}" if site else loader.dataset_class
    return Finding(
        fault=RULE.fault,
        catalogue=RULE.catalogue,
        layer=RULE.layer,
        share=share,
        ceiling_speedup=ceiling(share),
        confidence="medium",
        evidence=(_EVIDENCE.say(share=share, where=where, workers=loader.num_workers),),
        treatments=("loader-workers",),
        title=_TITLE.say(share=share),
        next_action=_ACTION.say(where=where),
    )


RULE = Rule(
    fault="workers-restarted",
    catalogue=("T3",),
    layer="data",
    title=_TITLE,
    next_action=_ACTION,
    find=_find,
)
