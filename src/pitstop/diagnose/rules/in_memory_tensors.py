"""T7: tensors that lie in memory are taken apart sample by sample and put together again by a loader."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE", "TENSORS"]

TENSORS = "torch.utils.data.dataset.TensorDataset"
_MIN_SHARE = 0.05

_EVIDENCE = Text(
    en="data_wait is {share:.1%} of the steady step time (ledger); a TensorDataset with num_workers=0 at {where}",
    zh="data_wait 占稳定训练步时间的 {share:.1%}（账本）；{where} 处为 num_workers=0 的 TensorDataset",
)


def _find(facts: Facts) -> Finding | None:
    share = facts.share("data_wait")
    held = [
        loader
        for loader in facts.evidence.loaders
        if loader.id in facts.train_loaders and loader.dataset_class == TENSORS and loader.num_workers == 0
    ]
    if not held or share < _MIN_SHARE:
        return None
    where = place(held[0].stack, otherwise=held[0].loader_class)
    return finding(RULE, share=share, evidence=_EVIDENCE.say(share=share, where=where), confidence="high", where=where)


RULE = Rule(
    fault="in-memory-tensors",
    catalogue=("T7",),
    layer="data",
    title=Text(
        en="Tensors in memory go through a data loader one sample at a time: {share:.0%} of each step",
        zh="内存中的张量由数据加载器逐个样本取出：占每步 {share:.0%}",
    ),
    next_action=Text(
        en="for rows in torch.randperm(len(x)).split(batch_size): step(x[rows], y[rows])  # instead of the loader at {where}",
        zh="for rows in torch.randperm(len(x)).split(batch_size): step(x[rows], y[rows])  # 代替 {where} 处的加载器",
    ),
    find=_find,
)
