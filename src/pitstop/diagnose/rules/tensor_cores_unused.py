"""T30: a GPU with units for TF32 and bf16 multiplies in full float32."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.diagnose.rules.operations import MUCH_FLOP, flop_at_least
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.05  # less could not be confirmed at the margin of a verdict
_CAPABILITY = (8, 0)  # from here on matrix units take TF32 and bfloat16

_EVIDENCE = Text(
    en="{module} at {where} is float32 without autocast on {device}, matmul_precision is {precision!r} and allow_tf32 is off; "
    "forward and backward are {share:.1%} of the step (ledger)",
    zh="{where} 处的 {module} 在 {device} 上为 float32 且未用 autocast，matmul_precision 为 {precision!r}，allow_tf32 关闭；"
    "前向和反向占每步 {share:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    environment, share = facts.evidence.environment, facts.share("forward", "backward")
    if environment is None or not environment.cuda or share < _MIN_SHARE or environment.allow_tf32 is not False:
        return None
    if environment.matmul_precision != "highest" or max(environment.device_capabilities, default=(0, 0)) < _CAPABILITY:
        return None
    plain = [
        one
        for one in facts.evidence.forwards
        if one.training
        and one.device.startswith("cuda")
        and one.autocast is None
        and flop_at_least(one) >= MUCH_FLOP
        and {dtype.removeprefix("torch.") for dtype in one.parameter_dtypes} == {"float32"}
    ]
    if not plain:
        return None
    where, device = (
        place(plain[0].stack, otherwise=plain[0].module_class),
        ", ".join(environment.device_names) or "cuda",
    )
    evidence = _EVIDENCE.say(
        module=plain[0].module_class, where=where, device=device, precision=environment.matmul_precision, share=share
    )
    # Launching is asynchronous: what the device does is not told apart in this share.
    return finding(
        RULE, share=share, evidence=evidence, confidence="low", treatments=("tf32", "bf16-autocast"), where=where
    )


RULE = Rule(
    fault="tensor-cores-unused",
    catalogue=("T30",),
    layer="compute",
    title=Text(
        en="The GPU's matrix units are not used: products are computed in full float32",
        zh="未使用 GPU 的矩阵单元：乘法以完整的 float32 计算",
    ),
    next_action=Text(
        en="torch.set_float32_matmul_precision('high'), or torch.autocast('cuda', dtype=torch.bfloat16) around the forward  # {where}",
        zh="torch.set_float32_matmul_precision('high')，或在前向外使用 torch.autocast('cuda', dtype=torch.bfloat16)  # {where}",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: networks train in TF32 or bfloat16 on such GPUs; forward and backward are {share:.0%} of the step here",
        zh="经验线：在这类 GPU 上以 TF32 或 bfloat16 训练；此处前向和反向占每步 {share:.0%}",
    ),
    picture=Text(
        en="Carrying bricks by hand beside a crane that nobody has switched on",
        zh="吊车就在旁边却没人开，还在用手搬砖",
    ),
    question=Text(
        en="Does the problem need all 24 bits of a product, or has nobody asked for less?",
        zh="问题真的需要乘积的全部 24 位，还是没人要求过更少？",
    ),
    reference=Text(
        en="People reported 47, then 94 (TF32), then 177 images a second (tensorpix#8)",
        zh="公开报告：每秒 47 张，TF32 后 94 张，再到 177 张（tensorpix#8）",
    ),
)
