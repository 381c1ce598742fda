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
    return finding(
        RULE,
        share=share,
        evidence=_EVIDENCE.say(share=share, where=where),
        confidence="high",
        treatments=("batched-indexing",),
        where=where,
    )


RULE = Rule(
    fault="in-memory-tensors",
    catalogue=("T7",),
    layer="data",
    title=Text(
        en="Tensors in memory go through a data loader one sample at a time: {share:.0%} of each step",
        zh="内存中的张量由数据加载器逐个样本取出：占每步 {share:.0%}",
    ),
    next_action=Text(
        en="DataLoader(data, sampler=BatchSampler(RandomSampler(data), batch_size, drop_last), batch_size=None)  # instead of the loader at {where}",
        zh="DataLoader(data, sampler=BatchSampler(RandomSampler(data), batch_size, drop_last), batch_size=None)  # 代替 {where} 处的加载器",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: data that already lies in memory should cost nothing to wait for; here {share:.0%} of the step",
        zh="经验线：已在内存中的数据几乎不应产生等待；此处占每步 {share:.0%}",
    ),
    picture=Text(
        en="Carrying a full box of eggs across the kitchen egg by egg, and filling a new box there",
        zh="把整盒鸡蛋一个一个搬到厨房另一头，再装进一个新盒子",
    ),
    question=Text(
        en="Is any transform applied per sample, or could whole batches be cut out of the tensors?",
        zh="有没有逐样本的变换？能否直接从张量中切出整批？",
    ),
    reference=Text(
        en="People reported 3 to 124 times as fast loading (pytorch#181501, pytorch#106704, pytorch#4959)",
        zh="公开报告：加载快 3 到 124 倍（pytorch#181501、pytorch#106704、pytorch#4959）",
    ),
)
