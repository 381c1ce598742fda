"""T28: convolutions of fixed shapes on a GPU, without the search for the fastest algorithm."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.05  # less could not be confirmed at the margin of a verdict
_FEWEST_BATCHES = 8  # of one shape: fewer say little about the next

_EVIDENCE = Text(
    en="torch.backends.cudnn.benchmark is off; {module} at {where} has {convolutions} convolutions on {device}; "
    "all tensors of {batches} batches had one shape each; forward and backward are {share:.1%} of the step (ledger)",
    zh="torch.backends.cudnn.benchmark 关闭；{where} 处的 {module} 在 {device} 上有 {convolutions} 个卷积；{batches} 个批次中各张量的形状都不变；"
    "前向和反向占每步 {share:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    environment, share = facts.evidence.environment, facts.share("forward", "backward")
    if environment is None or not environment.cuda or environment.cudnn_benchmark is not False or share < _MIN_SHARE:
        return None
    if (
        environment.deterministic or environment.cudnn_deterministic
    ):  # the search would be told to leave out what it looks for
        return None
    seen = [one for one in facts.evidence.census if one.loader in facts.train_loaders]
    fixed = seen and all(
        one.batches >= _FEWEST_BATCHES and all(len(leaf.shapes) == 1 for leaf in one.leaves) for one in seen
    )
    convolving = [
        one for one in facts.evidence.forwards if one.training and one.num_conv and one.device.startswith("cuda")
    ]
    if not fixed or not convolving:
        return None
    model = max(convolving, key=lambda one: one.num_conv)
    where = place(model.stack, otherwise=model.module_class)
    evidence = _EVIDENCE.say(
        module=model.module_class,
        where=where,
        convolutions=model.num_conv,
        device=", ".join(environment.device_names) or "cuda",
        batches=min(one.batches for one in seen),
        share=share,
    )
    return finding(RULE, share=share, evidence=evidence, confidence="low", treatments=("cudnn-benchmark",), where=where)


RULE = Rule(
    fault="algorithms-not-searched",
    catalogue=("T28",),
    layer="compute",
    title=Text(
        en="Convolutions of fixed shapes run without the search for the fastest algorithm",
        zh="形状固定的卷积没有搜索最快的算法",
    ),
    next_action=Text(
        en="torch.backends.cudnn.benchmark = True  # before the model is called at {where}",
        zh="torch.backends.cudnn.benchmark = True  # 在 {where} 调用模型之前",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: the search is on where shapes stay the same; forward and backward are {share:.0%} of the step here",
        zh="经验线：形状不变时应开启搜索；此处前向和反向占每步 {share:.0%}",
    ),
    picture=Text(
        en="Driving the same road every day without once trying the other one",
        zh="每天走同一条路，却从没试过另一条",
    ),
    question=Text(
        en="Do evaluation or the last batch of an epoch bring other shapes?",
        zh="评估或每轮最后一个批次会带来其他形状吗？",
    ),
    reference=Text(
        en="People saw it help and hurt: with changing shapes the search repeats (speechbrain#294, vision#5985)",
        zh="有人受益也有人受损：形状变化时会反复搜索（speechbrain#294、vision#5985）",
    ),
)
