"""T31: parameters are float64: twice the bytes, and on most devices far fewer operations per second."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.05
_SAVED_ON_CPU = 0.5  # half the bytes, twice the elements per vector; GPUs gain far more

_EVIDENCE = Text(
    en="parameters of {module} are float64 ({where}); forward, backward and optimizer are {share:.1%} of the step (ledger)",
    zh="{module} 的参数为 float64（{where}）；前向、反向和优化器占每步 {share:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    double = [
        forward
        for forward in facts.evidence.forwards
        if forward.training and any(dtype.endswith("float64") for dtype in forward.parameter_dtypes)
    ]
    share = facts.share("forward", "backward", "optimizer")
    if not double or share < _MIN_SHARE:
        return None
    where = place(double[0].stack, otherwise=double[0].module_class)
    on_cpu = double[0].device.startswith("cpu")
    return finding(
        RULE,
        share=share,
        evidence=_EVIDENCE.say(module=double[0].module_class, where=where, share=share),
        confidence="high",
        removable=_SAVED_ON_CPU * share if on_cpu else None,
        where=where,
    )


RULE = Rule(
    fault="float64-parameters",
    catalogue=("T31",),
    layer="compute",
    title=Text(
        en="The model trains in float64: {share:.0%} of each step computes in it",
        zh="模型以 float64 训练：每步 {share:.0%} 的时间用它计算",
    ),
    next_action=Text(
        en="model.float(), and inputs and targets in float32, unless the problem needs 16 digits  # {where}",
        zh="model.float()，输入和目标也用 float32，除非问题确实需要 16 位有效数字  # {where}",
    ),
    find=_find,
    fact=Text(
        en="The model trains in float64",
        zh="模型以 float64 训练",
    ),
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: networks train in float32 or narrower; computing in float64 is {share:.0%} of the step here",
        zh="经验线：神经网络用 float32 或更窄的格式训练；此处 float64 计算占每步 {share:.0%}",
    ),
    picture=Text(
        en="Weighing flour on a jeweller's scale: twice the work for digits that nobody reads",
        zh="用珠宝天平称面粉：多花一倍功夫，得到没人看的位数",
    ),
    question=Text(
        en="Does the problem need 16 digits, or did NumPy's default type slip in?",
        zh="问题真的需要 16 位有效数字，还是 NumPy 的默认类型混了进来？",
    ),
    reference=Text(
        en="People reported 40 % (seismiqb#19) and 8 to 10 times (dingo#55) on GPUs",
        zh="公开报告（GPU）：快 40%（seismiqb#19）、快 8 到 10 倍（dingo#55）",
    ),
)
