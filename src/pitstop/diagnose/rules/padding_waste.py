"""T14: much of what the model computes on is padding at the end of sequences."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records import CensusSighting, LeafCensus
from pitstop.records.results import Finding

__all__ = ["RULE"]

# What people gained by bucketing begins at 10 % of the step (fairseq#5011); with less padding than this and the usual share of the
# step in the model not even that is there.
_MIN_PADDING = 0.3
_MIN_COMPUTE = 0.3  # of the step in forward and backward
_FEWEST_BATCHES = 4

_EVIDENCE = Text(
    en="{padding:.0%} of {places} places of {path} in {batches} batches are padding (loader at {where}); forward and backward "
    "are {compute:.1%} of the step",
    zh="{batches} 个批次中 {path} 的 {places} 个位置有 {padding:.0%} 是填充（加载器位于 {where}）；前向和反向占每步 {compute:.1%}",
)


def _find(facts: Facts) -> Finding | None:
    compute = facts.share("forward", "backward")
    found = [(leaf.padding, seen, leaf) for seen in facts.evidence.census for leaf in _sequences(facts, seen)]
    # Recurrent modules are mostly given packed sequences, of which the padding is taken out before they compute.
    packs = any(forward.num_rnn for forward in facts.evidence.forwards if forward.training)
    if not found or packs or compute < _MIN_COMPUTE:
        return None
    padding, seen, leaf = max(found, key=lambda item: item[0])
    if padding < _MIN_PADDING:
        return None
    loader = next(loader for loader in facts.evidence.loaders if loader.id == seen.loader)
    where = place(loader.stack, otherwise=loader.dataset_class)
    return finding(
        RULE,
        share=compute * padding,
        evidence=_EVIDENCE.say(
            padding=padding,
            places=leaf.places,
            path=f"batch{leaf.path}",
            batches=seen.batches,
            where=where,
            compute=compute,
        ),
        confidence="medium",
        padding=padding,
        where=where,
    )


def _sequences(facts: Facts, seen: CensusSighting) -> list[LeafCensus]:
    known = any(loader.id == seen.loader for loader in facts.evidence.loaders)
    if not known or seen.loader not in facts.train_loaders or seen.batches < _FEWEST_BATCHES:
        return []
    return [leaf for leaf in seen.leaves if leaf.places]


RULE = Rule(
    fault="padding-waste",
    catalogue=("T14",),
    layer="data",
    title=Text(
        en="{padding:.0%} of the sequences in a batch is padding, and the model computes on it",
        zh="批次中的序列有 {padding:.0%} 是填充，模型仍在其上计算",
    ),
    next_action=Text(
        en="Put samples of like length into a batch (bucketing), pad to the longest of each batch only, or pack sequences  # {where}",
        zh="把长度相近的样本放进同一批次（分桶），只填充到该批次的最长长度，或拼接序列  # {where}",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: with batches of like lengths padding stays below 10 to 20 %; here {padding:.0%}",
        zh="经验线：批次内长度相近时填充低于 10% 到 20%；此处为 {padding:.0%}",
    ),
    picture=Text(
        en="Sending lorries that are half filled with empty boxes",
        zh="卡车里一半装的是空箱子",
    ),
    question=Text(
        en="Must samples of a batch be drawn at random, or may their lengths be alike?",
        zh="同一批次的样本必须完全随机，还是可以长度相近？",
    ),
    reference=Text(
        en="People reported 10 to 50 %, and twice as fast (fairseq#5011, pocket-tts#309)",
        zh="公开报告：快 10% 到 50%，也有快一倍的（fairseq#5011、pocket-tts#309）",
    ),
)
