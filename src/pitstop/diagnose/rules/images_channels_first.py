"""T29: convolutions get their images with the channels first, and the kernels that compute them want them last."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.diagnose.rules.operations import MUCH_FLOP, flop_at_least, operation_ns
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.5
_LARGE_NS = 200_000  # mean time of an operation, as in float32_on_bf16_processor
_SAVED = 0.5  # of forward and backward, in the best reports; many see a fifth, and some lose

_EVIDENCE = Text(
    en="{module} has {convolutions} convolutions and channels-first weights ({where}); forward and backward are {share:.1%} of the step (ledger)",
    zh="{module} 有 {convolutions} 个卷积，权重为通道在前（{where}）；前向和反向占每步 {share:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    each_ns, share = operation_ns(facts), facts.share("forward", "backward")
    if each_ns is None or each_ns < _LARGE_NS or share < _MIN_SHARE:
        return None
    first = [
        forward
        for forward in facts.evidence.forwards
        if forward.training
        and forward.num_conv
        and flop_at_least(forward) >= MUCH_FLOP
        and not forward.channels_last
        and not forward.compiled  # the compiler chooses layouts by itself
        and any(len(shape) == 4 and shape[1] > 1 for shape in forward.input_shapes)
    ]
    if not first:
        return None
    where = place(first[0].stack, otherwise=first[0].module_class)
    return finding(
        RULE,
        share=share,
        evidence=_EVIDENCE.say(module=first[0].module_class, convolutions=first[0].num_conv, where=where, share=share),
        confidence="low",
        removable=_SAVED * share,
        treatments=("channels-last",),
    )


RULE = Rule(
    fault="images-channels-first",
    catalogue=("T29",),
    layer="compute",
    title=Text(
        en="Convolutions compute channels-first images in {share:.0%} of each step",
        zh="每步 {share:.0%} 的时间以通道在前的格式计算卷积",
    ),
    next_action=Text(
        en="model.to(memory_format=torch.channels_last)  # measure it: some models lose",
        zh="model.to(memory_format=torch.channels_last)  # 需实测：有的模型会变慢",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: none; channels-last is worth a trial where convolutions dominate ({share:.0%} of the step here)",
        zh="经验线：无定论；卷积占主导时值得一试通道在后（此处占每步 {share:.0%}）",
    ),
    picture=Text(
        en="Books sorted by colour in a library where everybody asks by author",
        zh="人人按作者借书的图书馆，书却按颜色排列",
    ),
    question=Text(
        en="Does any own code rely on the memory order of images (view, custom kernels)?",
        zh="有没有依赖图像内存顺序的自写代码（view、自定义内核）？",
    ),
    reference=Text(
        en="People reported 1.2 times as fast, or a loss (ultralytics#25362, apex#1445, pytorch#34977)",
        zh="公开报告：快 1.2 倍，也有变慢的（ultralytics#25362、apex#1445、pytorch#34977）",
    ),
)
