"""Gradient accumulation written into a training loop: which shapes of loop are understood, and the edit as a person would make it."""

import re
from dataclasses import dataclass
from typing import cast

import libcst as cst

from pitstop.records import Site
from pitstop.treat.contract import CannotEdit
from pitstop.treat.edit.arguments import keyword_argument
from pitstop.treat.edit.file import FileDraft, Range, Rank
from pitstop.treat.edit.names import bindings
from pitstop.treat.edit.parsed import ParsedSource, Statement
from pitstop.treat.edit.sites import call_at, callee_name
from pitstop.treat.edit.values import bound_once

__all__ = ["Loop", "accumulate", "find_loop", "loss_of"]

_WRAPPERS = frozenset({"enumerate", "tqdm", "trange", "track"})
# Calls between the backward and the optimizer's step that belong to the step.
_OF_THE_STEP = frozenset({"clip_grad_norm_", "clip_grad_value_", "step", "zero_grad", "update_parameters"})
_SAYS_ONLY = re.compile(
    r"^(print|log\w*|info|debug|warning|write|set_postfix\w*|set_description\w*|add_scalars?|update|append|format)$"
)
_COUNTS_STEPS = re.compile(r"step|iter|warmup|batches_total", re.IGNORECASE)
_LEAVES = (cst.Break, cst.Continue, cst.Return, cst.Yield, cst.Raise)
# Losses of torch that are a mean over the samples of the batch unless told otherwise.
_MEANS = frozenset(
    {
        "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
        "binary_cross_entropy_with_logits", "soft_margin_loss", "poisson_nll_loss", "gaussian_nll_loss",
        "CrossEntropyLoss", "NLLLoss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCELoss", "BCEWithLogitsLoss",
        "SoftMarginLoss", "PoissonNLLLoss", "GaussianNLLLoss",
    }
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A loop over a loader that makes one optimizer step per batch. Indices are those of its own statements."""

    node: cst.For
    block: cst.IndentedBlock
    loss: cst.BaseExpression  # what the backward is called on
    loader: str  # code of the expression that is the DataLoader
    counter: str | None  # the loop's own index of batches, from 0
    backward: cst.Call
    backward_at: int
    zero_at: int | None  # a zero_grad() before the backward
    step: Range  # from the first statement of the optimizer's step to the last


def find_loop(file: FileDraft, site: Site) -> Loop:
    """Return the loop around the backward at `site`; raises CannotEdit with the reason where its shape is not understood."""
    parsed = file.parsed
    call = call_at(parsed, site, likely=lambda call: callee_name(call) == "backward")
    line = parsed.position(call).start.line
    if not isinstance(call.func, cst.Attribute) or call.args or "scale" in parsed.code(call.func.value):
        raise CannotEdit("fit_backward", line=line)
    node = next((at for at in parsed.ancestors(call) if isinstance(at, cst.For | cst.While | cst.FunctionDef)), None)
    if not isinstance(node, cst.For) or not isinstance(node.body, cst.IndentedBlock):
        raise CannotEdit("fit_no_loop", line=line)
    block = node.body
    at = _own_index(parsed, block, call)
    if at is None:
        raise CannotEdit("fit_nested", line=line)
    _check_body(parsed, node, block)
    loader = _loader(parsed, node.iter)
    zero, step = _step(parsed, block, at)
    _check_counts(parsed, block, loader)
    counter = _counter(parsed, node)
    _check_counter(parsed, block, counter)
    return Loop(
        node=node,
        block=block,
        loss=call.func.value,
        loader=loader,
        counter=counter,
        backward=call,
        backward_at=at,
        zero_at=zero,
        step=step,
    )


def accumulate(file: FileDraft, loop: Loop, *, factor: int, divided: bool, drops_last: bool) -> None:
    """Let `loop` step once in `factor` batches. `divided`: the loss is a mean, so that it is weighted with the batch's share."""
    parsed, block = file.parsed, loop.block
    counter = loop.counter or _new_name(parsed, "micro_step")
    if loop.counter is None:
        target, source = parsed.code(loop.node.target), parsed.code(loop.node.iter)
        bare = isinstance(loop.node.target, cst.Tuple) and not loop.node.target.lpar
        file.replace(loop.node.target, f"{counter}, ({target})" if bare else f"{counter}, {target}")
        file.replace(loop.node.iter, f"enumerate({source})")
    position = f"{counter} % {factor}"
    if divided:
        _weighted(file, loop, counter=counter, factor=factor, drops_last=drops_last)
    if loop.zero_at is not None:
        file.wrap(block, Range(first=loop.zero_at, last=loop.zero_at), f"if {position} == 0:")
    due = f"({counter} + 1) % {factor} == 0"
    due = due if drops_last else f"{due} or {counter} + 1 == len({loop.loader})"
    file.wrap(block, loop.step, f"if {due}:")


def _weighted(file: FileDraft, loop: Loop, *, counter: str, factor: int, drops_last: bool) -> None:
    """Weight each loss with its share of the samples of the whole batch; the last one of an epoch may have fewer."""
    parsed = file.parsed
    value, statement = loop.loss, cast("Statement", loop.block.body[loop.backward_at])
    loss = parsed.code(value)
    if drops_last:
        file.replace(value, f"({loss} / {factor})")
        return
    left, weight, size = _new_name(parsed, "remaining"), _new_name(parsed, "weight"), f"{loop.loader}.batch_size"
    file.insert_before(
        statement,
        f"{left} = len({loop.loader}.sampler) - {counter} // {factor} * {factor} * {size}",
        rank=Rank.SETTING,
    )
    file.insert_before(
        statement,
        f"{weight} = min({size}, {left} - {counter} % {factor} * {size}) / min({factor} * {size}, {left})",
        rank=Rank.FORMAT,
    )
    file.replace(value, f"({loss} * {weight})")


def loss_of(file: FileDraft, loop: Loop) -> str:
    """Say what kind of number the loss is: "mean" and "sum" over the samples of a batch, or "unknown"."""
    parsed = file.parsed
    value = loop.loss
    if isinstance(value, cst.Name):
        own = [
            assign.value
            for assign in parsed.nodes(cst.Assign, inside=loop.node)
            if any(parsed.code(target.target) == value.value for target in assign.targets)
        ]
        if len(own) != 1:
            return "unknown"
        value = own[0]
    return _kind(parsed, value)


def _kind(parsed: ParsedSource, value: cst.BaseExpression) -> str:
    """Follow a call of a loss to its name and its `reduction`."""
    if not isinstance(value, cst.Call):
        return "unknown"
    name, call = callee_name(value), value
    if name == "mean" and isinstance(value.func, cst.Attribute) and not value.args:
        return "mean"
    if name == "sum" and isinstance(value.func, cst.Attribute) and not value.args:
        return "sum"
    if name not in _MEANS:
        made = value.func if isinstance(value.func, cst.Call) else _made(parsed, value.func)
        if made is None or callee_name(made) not in _MEANS:
            return "unknown"
        call = made
    # Class weights and ignored labels make the mean one over the batch's own weights.
    if any(keyword_argument(call, keyword) is not None for keyword in ("weight", "ignore_index")):
        return "unknown"
    reduction = keyword_argument(call, "reduction")
    if reduction is None:
        return "mean"
    text = reduction.value.evaluated_value if isinstance(reduction.value, cst.SimpleString) else None
    return text if text in ("mean", "sum") else "unknown"


def _made(parsed: ParsedSource, function: cst.BaseExpression) -> cst.Call | None:
    """Return the call that made `criterion` or `self.criterion`: the only one that this file binds to the name."""
    name = parsed.code(function)
    values = [
        assign.value
        for assign in parsed.nodes(cst.Assign)
        if any(parsed.code(target.target).rsplit(".", 1)[-1] == name.rsplit(".", 1)[-1] for target in assign.targets)
    ]
    value = values[0] if len(values) == 1 else None
    if isinstance(value, cst.Call) and callee_name(value) in ("to", "cuda") and isinstance(value.func, cst.Attribute):
        value = value.func.value
    return value if isinstance(value, cst.Call) else None


def _own_index(parsed: ParsedSource, block: cst.IndentedBlock, inner: cst.CSTNode) -> int | None:
    """Return which of the loop's own simple statements holds `inner`; None where it is deeper in."""
    holder = next((at for at in parsed.ancestors(inner) if isinstance(at, cst.SimpleStatementLine)), None)
    if holder is None or len(holder.body) != 1 or not isinstance(holder.body[0], cst.Expr):
        return None
    return next((index for index, at in enumerate(block.body) if at is holder), None)


def _check_body(parsed: ParsedSource, node: cst.For, block: cst.IndentedBlock) -> None:
    for kind in _LEAVES:
        for leaving in parsed.nodes(kind, inside=block):
            raise CannotEdit("fit_leaves", line=parsed.position(leaving).start.line)
    if node.orelse is not None:
        raise CannotEdit("fit_leaves", line=parsed.position(node.orelse).start.line)
    backwards = [call for call in parsed.nodes(cst.Call, inside=block) if callee_name(call) == "backward"]
    if len(backwards) != 1:
        raise CannotEdit("fit_several_backwards", line=parsed.position(node).start.line)


def _loader(parsed: ParsedSource, source: cst.BaseExpression) -> str:
    for _ in range(6):
        if isinstance(source, cst.Call) and callee_name(source) in _WRAPPERS and source.args:
            source = source.args[0].value
        elif isinstance(source, cst.Name):
            bound = bound_once(parsed, source)
            if not (isinstance(bound, cst.Call) and callee_name(bound) in _WRAPPERS):
                return source.value
            source = bound
        elif isinstance(source, cst.Attribute):
            return parsed.code(source)
        else:
            break
    raise CannotEdit("fit_no_loop", line=parsed.position(source).start.line)


def _step(parsed: ParsedSource, block: cst.IndentedBlock, backward_at: int) -> tuple[int | None, Range]:
    """Find zero_grad() and the statements of the optimizer's step."""
    calls = {index: _method(statement) for index, statement in enumerate(block.body)}
    line = parsed.position(block).start.line
    every = [callee_name(call) for call in parsed.nodes(cst.Call, inside=block)]
    zeros = [index for index, call in calls.items() if call is not None and callee_name(call) == "zero_grad"]
    steps = [
        index
        for index, call in calls.items()
        if call is not None and callee_name(call) == "step" and index > backward_at
    ]
    if len(zeros) != 1 or every.count("zero_grad") != 1:
        raise CannotEdit("fit_zero_grad", line=line)
    optimizers = [index for index in steps if not _is_schedule(parsed, calls[index])]
    if len(optimizers) != 1 or every.count("step") != len(steps):
        raise CannotEdit("fit_step", line=line)
    call = calls[optimizers[0]]
    if call is not None and call.args:
        raise CannotEdit("fit_step", line=parsed.position(call).start.line)
    mine = [
        index
        for index, call in calls.items()
        if index > backward_at and call is not None and callee_name(call) in _OF_THE_STEP
    ]
    between = range(backward_at + 1, mine[-1] + 1)
    if strange := [index for index in between if index not in mine]:
        raise CannotEdit("fit_between", line=parsed.position(block.body[strange[0]]).start.line)
    zero = zeros[0] if zeros[0] < backward_at else None
    if "ema" in re.split(r"\W|_", parsed.code(block).lower()):
        raise CannotEdit("fit_average", line=line)
    return zero, Range(first=mine[0], last=mine[-1])


def _is_schedule(parsed: ParsedSource, call: cst.Call | None) -> bool:
    return call is not None and "sched" in parsed.code(call.func).lower()


def _method(statement: cst.CSTNode) -> cst.Call | None:
    """Return the call that is all of a statement."""
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        small = statement.body[0]
        if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
            return small.value
    return None


def _check_counts(parsed: ParsedSource, block: cst.IndentedBlock, loader: str) -> None:
    """Refuse where the number of batches in an epoch decides about the training: a schedule, a number of steps."""
    name = loader.rsplit(".", 1)[-1]
    for call in parsed.nodes(cst.Call):
        if callee_name(call) != "len" or not call.args or parsed.code(call.args[0].value).rsplit(".", 1)[-1] != name:
            continue
        for at in parsed.ancestors(call):
            schedule = isinstance(at, cst.Call) and re.search(r"LR$|sched", callee_name(at) or "")
            counted = isinstance(at, cst.Assign) and any(
                _COUNTS_STEPS.search(parsed.code(target.target)) for target in at.targets
            )
            if schedule or counted:
                raise CannotEdit("fit_counts_batches", line=parsed.position(call).start.line)
    for grown in parsed.nodes(cst.AugAssign, inside=block):
        if isinstance(grown.value, cst.Integer) and _COUNTS_STEPS.search(parsed.code(grown.target)):
            raise CannotEdit("fit_counts_batches", line=parsed.position(grown).start.line)


def _counter(parsed: ParsedSource, node: cst.For) -> str | None:
    if not isinstance(node.iter, cst.Call) or callee_name(node.iter) != "enumerate":
        return None
    elements = node.target.elements if isinstance(node.target, cst.Tuple) else ()
    if len(node.iter.args) != 1 or len(elements) != 2 or not isinstance(elements[0].value, cst.Name):
        raise CannotEdit("fit_no_loop", line=parsed.position(node).start.line)
    return elements[0].value.value


def _check_counter(parsed: ParsedSource, block: cst.IndentedBlock, counter: str | None) -> None:
    """Refuse where the index, which now counts smaller batches, decides about more than what is tested and shown."""
    for name in parsed.nodes(cst.Name, inside=block) if counter is not None else ():
        if name.value != counter:
            continue
        shown = any(
            isinstance(at, cst.FormattedString)
            or (isinstance(at, cst.Call) and _SAYS_ONLY.match(callee_name(at) or ""))
            or (isinstance(at, cst.If) and name in parsed.nodes(cst.Name, inside=at.test))
            for at in parsed.ancestors(name)
        )
        if not shown:
            raise CannotEdit("fit_counts_batches", line=parsed.position(name).start.line)


def _new_name(parsed: ParsedSource, wanted: str) -> str:
    used = {name.value for name in parsed.nodes(cst.Name)} | set(bindings(parsed, parsed.module))
    while wanted in used:
        wanted += "_"
    return wanted
