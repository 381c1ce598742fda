"""T39: the model is a loop in Python over many small operations, and calling them takes longer than what they compute."""

from pitstop.diagnose.rules.contract import Facts, Rule, finding, place
from pitstop.diagnose.rules.operations import flop_at_least, largest_backward, operation_ns
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_MIN_SHARE = 0.3
# Calls per parameter tensor. A transformer's layer has 5, a convolutional net 2 (counted with torch 2.13); a recurrent cell called for 50
# time steps has 125: the same parameters again and again.
_MIN_REPEATS = 20
_MIN_OPERATIONS = 200
# Forward and backward of an operation that computes next to nothing take 10 to 40 us in eager mode, however fast the device (the
# dispatcher, a node of autograd, an allocation). Little to compute in one use of all parameters says that calling is what takes
# time, whatever the machine is doing; an operation that takes long all the same works on something else than the parameters.
_LITTLE_FLOP = 2e7
_LONG_NS = 500_000

_EVIDENCE = Text(
    en="{operations} operations on {parameters} parameter tensors behind one backward at {backward}: {each:.0f} us each, forward and backward "
    "together, which are {share:.1%} of the step (ledger); most stack samples of the forward are at {where}",
    zh="{backward} 处的一次反向背后有 {operations} 个操作、{parameters} 个参数张量：每个操作前向加反向 {each:.0f} 微秒，"
    "合计占每步 {share:.1%}（账本）；前向的调用栈采样大多在 {where}",
)


def _find(facts: Facts) -> Finding | None:
    backward, each_ns = largest_backward(facts), operation_ns(facts)
    share = facts.share("forward", "backward")
    if backward is None or each_ns is None or share < _MIN_SHARE:
        return None
    operations, parameters = backward.operations or 0, max(1, backward.parameters or 0)
    if operations < max(_MIN_OPERATIONS, _MIN_REPEATS * parameters) or each_ns > _LONG_NS:
        return None
    models = [forward for forward in facts.evidence.forwards if forward.training and forward.grad_enabled]
    if max(map(flop_at_least, models), default=0.0) > _LITTLE_FLOP:
        return None
    called = place(backward.stack, otherwise="?")
    where = facts.hottest("forward") or called
    return finding(
        RULE,
        share=share,
        evidence=_EVIDENCE.say(
            operations=operations,
            parameters=parameters,
            backward=called,
            each=each_ns / 1000,
            share=share,
            where=where,
        ),
        confidence="medium",
        treatments=("compile",),
        where=where,
    )


RULE = Rule(
    fault="python-loop-in-model",
    catalogue=("T39",),
    layer="model",
    title=Text(
        en="The model loops in Python over many small operations: calling them takes most of {share:.0%} of each step",
        zh="模型在 Python 中循环执行大量小操作：每步 {share:.0%} 的时间主要花在调用上",
    ),
    next_action=Text(
        en="One operation for the whole loop at {where}: nn.LSTM for LSTMCell, a batched matmul, cumsum, unfold; else torch.compile",
        zh="用一个操作代替 {where} 处的循环：用 nn.LSTM 代替 LSTMCell，用批量 matmul、cumsum、unfold；否则用 torch.compile",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: a few operations per layer; with far more, calling them dominates ({share:.0%} of the step is forward and backward here)",
        zh="经验线：每层只有几个操作；多得多时调用占主导（此处前向和反向占每步 {share:.0%}）",
    ),
    picture=Text(
        en="Sending a courier for every single letter instead of one with the whole bag",
        zh="每封信派一个快递员，而不是一个人背一整袋",
    ),
    question=Text(
        en="Could the loop be one operation over all time steps or all items?",
        zh="这个循环能否改为对所有时间步或所有元素的一次操作？",
    ),
    reference=Text(
        en="People reported 5 times as fast (MSLK#309); one case got slower with graphs (build-nanogpt#6)",
        zh="公开报告：快 5 倍（MSLK#309）；也有用 CUDA 图反而变慢的（build-nanogpt#6）",
    ),
)
