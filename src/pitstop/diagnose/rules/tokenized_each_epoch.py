"""T13: text is tokenised while training runs, again in each epoch."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.diagnose.rules.loading import dominant
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_EVIDENCE = Text(
    en="{part:.0%} of {samples} stack samples in loading are in a tokenizer, most of them at {where}; data_wait is {wait:.1%} of the step (ledger)",
    zh="加载中的 {samples} 个调用栈采样有 {part:.0%} 在分词器中，多数位于 {where}；data_wait 占每步 {wait:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    found = dominant(facts, "tokenize")
    if found is None:
        return None
    loading, part, share = found
    where = loading.place("tokenize") or "?"
    wait = facts.share("data_wait")
    return finding(
        RULE,
        share=share,
        evidence=_EVIDENCE.say(part=part, samples=loading.total, wait=wait, where=where),
        confidence="medium",
        part=part,
        where=where.partition(" > ")[0].rpartition(" ")[0] or where,
    )


RULE = Rule(
    fault="tokenized-each-epoch",
    catalogue=("T13",),
    layer="data",
    title=Text(
        en="Tokenising is {part:.0%} of loading, and the step waits for it",
        zh="分词占加载的 {part:.0%}，训练步在等待它",
    ),
    next_action=Text(
        en="Tokenise once before training, and store the token ids: dataset.map(tokenize, batched=True)  # {where}",
        zh="训练前一次性分词并保存编号：dataset.map(tokenize, batched=True)  # {where}",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: text gets its tokens once, before the first epoch; here it keeps {share:.0%} of the step waiting",
        zh="经验线：文本在第一个 epoch 之前分词一次；此处使每步 {share:.0%} 的时间在等待",
    ),
    picture=Text(
        en="Translating the same book anew for every reader",
        zh="每来一位读者就把同一本书重新翻译一遍",
    ),
    question=Text(
        en="Does the text change between epochs, or could the token ids be stored?",
        zh="文本在各 epoch 之间会变吗？能否保存分词结果？",
    ),
    reference=Text(
        en="People reported 30 % (ModernBERT#236, NeMo#14528)",
        zh="公开报告：快 30%（ModernBERT#236、NeMo#14528）",
    ),
)
