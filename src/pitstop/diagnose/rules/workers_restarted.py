"""T3: the loader's workers are started anew for each epoch, and the training waits for them."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.05

_EVIDENCE = Text(
    en="num_workers={workers} without persistent_workers at {where}; data_wait is {share:.1%} (ledger)",
    zh="{where} 处 num_workers={workers} 且未设 persistent_workers；data_wait 占 {share:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    share = facts.share("data_wait")
    restarted = [
        loader
        for loader in facts.evidence.loaders
        if loader.id in facts.train_loaders and loader.num_workers and not loader.persistent_workers
    ]
    if not restarted or share < _MIN_SHARE:
        return None
    loader = restarted[0]
    where = place(loader.stack, otherwise=loader.dataset_class)
    return finding(
        RULE,
        share=share,
        evidence=_EVIDENCE.say(share=share, where=where, workers=loader.num_workers),
        confidence="medium",
        treatments=("loader-workers",),
        where=where,
    )


RULE = Rule(
    fault="workers-restarted",
    catalogue=("T3",),
    layer="data",
    title=Text(
        en="Loader workers are started again each epoch; waiting for data is {share:.0%} of the step",
        zh="数据加载器的工作进程每个 epoch 重新启动；等待数据占训练步的 {share:.0%}",
    ),
    next_action=Text(
        en="DataLoader(..., persistent_workers=True)  # {where}",
        zh="DataLoader(..., persistent_workers=True)  # {where}",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: with short epochs, starting workers should not be visible; waiting for data is {share:.0%} here",
        zh="经验线：epoch 很短时也不应看出启动工作进程的时间；此处等待数据占 {share:.0%}",
    ),
    picture=Text(
        en="Dismissing all helpers in the evening and hiring new ones each morning",
        zh="每天晚上辞退所有帮工，第二天早上再重新招人",
    ),
    question=Text(
        en="Does the dataset change between epochs in a way that needs fresh workers?",
        zh="数据集在 epoch 之间是否会变化，以致必须重启工作进程？",
    ),
    reference=Text(
        en="People reported 7 min down to 35 s per epoch (mmhuman3d#233) and 1.10 s down to 0.74 s (delta-interpolator#3)",
        zh="公开报告：每个 epoch 由 7 分钟降到 35 秒（mmhuman3d#233），由 1.10 秒降到 0.74 秒（delta-interpolator#3）",
    ),
)
