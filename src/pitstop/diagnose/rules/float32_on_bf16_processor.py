"""T30 on a CPU: large matrix products and convolutions run in float32 on a processor that is faster in bfloat16."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.diagnose.rules.operations import MUCH_FLOP, flop_at_least, operation_ns
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.5
_LARGE_NS = 200_000  # mean time of an operation: below it, calling operations and memory matter more than arithmetic
# avx512_bf16 has twice the products per instruction; amx has sixteen times those of avx512 in float32 (Intel's optimization manual).
_SAVED = {"amx_bf16": 0.9, "avx512_bf16": 0.5, "bf16": 0.5}

_EVIDENCE = Text(
    en="parameters of {module} are float32 without autocast ({where}); forward and backward are {share:.1%} of the step (ledger), {each:.0f} us per "
    "operation; the processor has {flag}",
    zh="{module} 的参数为 float32 且未用 autocast（{where}）；前向和反向占每步 {share:.1%}（账本），每个操作 {each:.0f} 微秒；处理器支持 {flag}",
)


def _find(facts: Facts) -> Finding | None:
    environment, each_ns = facts.evidence.environment, operation_ns(facts)
    share = facts.share("forward", "backward")
    if environment is None or each_ns is None or each_ns < _LARGE_NS or share < _MIN_SHARE:
        return None
    flag = next((flag for flag in _SAVED if flag in environment.cpu_flags), None)
    plain = [
        forward
        for forward in facts.evidence.forwards
        if forward.training
        and forward.autocast is None
        and forward.device.startswith("cpu")
        and flop_at_least(forward) >= MUCH_FLOP
        and {dtype.removeprefix("torch.") for dtype in forward.parameter_dtypes} == {"float32"}
    ]
    if flag is None or not plain:
        return None
    where = place(plain[0].stack, otherwise=plain[0].module_class)
    return finding(
        RULE,
        share=share,
        evidence=_EVIDENCE.say(module=plain[0].module_class, where=where, share=share, each=each_ns / 1000, flag=flag),
        confidence="medium" if flag == "amx_bf16" else "low",
        removable=_SAVED[flag] * share,
        treatments=("bf16-autocast",),
        where=where,
    )


RULE = Rule(
    fault="float32-on-bf16-processor",
    catalogue=("T30",),
    layer="compute",
    title=Text(
        en="{share:.0%} of each step computes in float32; this processor is faster in bfloat16",
        zh="每步 {share:.0%} 的时间以 float32 计算；这款处理器用 bfloat16 更快",
    ),
    next_action=Text(
        en='with torch.autocast("cpu", dtype=torch.bfloat16):  # around forward and loss at {where}',
        zh='with torch.autocast("cpu", dtype=torch.bfloat16):  # 包住 {where} 处的前向和损失',
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: large products on such a processor run in bfloat16; {share:.0%} of the step computes in float32 here",
        zh="经验线：这类处理器上的大矩阵乘应使用 bfloat16；此处每步 {share:.0%} 以 float32 计算",
    ),
    picture=Text(
        en="Carrying one brick at a time in a wheelbarrow that holds two",
        zh="能装两块砖的手推车，每次只装一块",
    ),
    question=Text(
        en="Is there an accuracy figure by which a run in bfloat16 could be accepted?",
        zh="有没有可以用来验收 bfloat16 运行的精度指标？",
    ),
    reference=Text(
        en="One report, on a GPU: 47 images/s, 94 with TF32, 177 with half precision (tensorpix#8)",
        zh="公开报告（GPU）：47 图/秒，TF32 为 94，半精度为 177（tensorpix#8）",
    ),
)
