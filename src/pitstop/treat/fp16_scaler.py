"""`fp16-scaler`: float16 with a scaled loss, for GPUs whose tensor cores know no bfloat16."""

import re
from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal
from pitstop.treat.bf16_autocast import Bf16Autocast
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.devices import capability, on_cuda
from pitstop.treat.training import training_forwards
from pitstop.treat.versions import torch_at_least

if TYPE_CHECKING:
    import libcst as cst

    from pitstop.treat.edit import Draft
    from pitstop.treat.edit.file import FileDraft
    from pitstop.treat.edit.parsed import Statement
    from pitstop.treat.edit.regions import Region

__all__ = ["Fp16Scaler"]

_FLOAT16, _BFLOAT16 = (
    (7, 0),
    (8, 0),
)  # compute capability of the first tensor cores (Volta), and of those that take bfloat16 (Ampere)
_CLIPS = ("clip_grad_norm_", "clip_grad_value_")
_NAME = "scaler"
_GRADIENTS = re.compile(r"\.grad\b|\bclip_grad_")


class Fp16Scaler:
    """Autocast in float16, and a GradScaler around backward and step."""

    name = "fp16-scaler"
    layer = "compute"
    title = Text(en="Forward and loss in float16, with a scaled loss", zh="前向与损失使用 float16，并缩放损失")
    explanation = Text(
        en="Tensor cores before Ampere multiply float16 only. Its small gradients would become zero, so the loss is multiplied by a large factor "
        "before the backward, and the gradients are divided by it before the step; a step whose gradients overflow is left out and the factor "
        "halved. Weights and optimizer state stay in float32. Results change within the precision of the format.",
        zh="Ampere 之前的张量核心只支持 float16。其过小的梯度会变成零，因此反向之前把损失乘以一个大系数，更新之前再把梯度除以它；"
        "梯度溢出的那一步会被跳过，系数减半。权重和优化器状态保持 float32。结果在该格式的精度内变化。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal, on a GPU that has float16 units and none for bfloat16; it excludes `bf16-autocast`."""
        reason = _obstacle(view)
        if reason is not None:
            return CannotApply(treatment=self.name, reason=reason)
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"dtype": "float16"},
                numerics=Numerics.PRECISION,
                ceiling=amdahl(view.ledger, "forward", "backward", "sync"),
                group=Bf16Autocast.name,
                acts_on="training",
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:  # noqa: ARG002  one setting only
        """Wrap the region, scale its backward, unscale before clipping, step through the scaler, and update it."""
        from pitstop.treat.edit.anchors import insert_after_making  # noqa: PLC0415  libcst is imported when an edit is made
        from pitstop.treat.edit.file import Rank  # noqa: PLC0415
        from pitstop.treat.edit.regions import find_regions  # noqa: PLC0415

        regions = find_regions(draft, view.evidence)
        if len(regions) != 1:
            raise CannotEdit("several_regions")
        region = regions[0]
        file = draft.file(region.path)
        _check(file, region, view)
        steps = _steps(file, region, view)
        file.replace(loss := _loss(file, region), f"{_NAME}.scale({file.parsed.code(loss)})")
        for statement, name, call in steps:
            file.replace(call, f"{_NAME}.step({name})")
            for clip in _clips(file, region, statement):
                file.insert_before(clip, f"{_NAME}.unscale_({name})", rank=Rank.SETTING)
        file.insert_after(steps[-1][0], f"{_NAME}.update()", rank=Rank.SETTING)
        torch = file.import_name("torch")
        maker = f"{torch}.amp.GradScaler()" if torch_at_least(view, (2, 3)) else f"{torch}.cuda.amp.GradScaler()"
        last = view.evidence.optimizers[-1]
        made = last.optimizer_class.rsplit(".", 1)[-1]
        insert_after_making(file, last.stack[-1], (f"{_NAME} = {maker}",), made=made, rank=Rank.SETTING)
        header = f"with {torch}.autocast(device_type={file.style.string('cuda')}, dtype={torch}.float16):"
        file.wrap(region.block, region.range, header)


def _obstacle(view: View) -> str | None:
    if not on_cuda(view):
        return say("treat.no_gpu_used")
    if not view.evidence.backwards:
        return say("treat.no_training_seen")
    least = capability(view)
    if least is None:
        return say("treat.capability_unknown")
    if least >= _BFLOAT16:
        return say("treat.has_bf16_units")
    if least < _FLOAT16:
        return say("treat.no_fp16_units", capability=".".join(map(str, least)))
    if any(forward.autocast is not None for forward in training_forwards(view.evidence)):
        return say("treat.autocast_already")
    if not any(
        "float32" in dtype for forward in training_forwards(view.evidence) for dtype in forward.parameter_dtypes
    ):
        return say("treat.no_float32")
    return None


def _check(file: "FileDraft", region: "Region", view: View) -> None:
    """Refuse what has a scaler, an autocast or another use of the gradients already."""
    import libcst as cst  # noqa: PLC0415  imported when an edit is made

    from pitstop.treat.edit.sites import callee_name  # noqa: PLC0415

    parsed = file.parsed
    if any("GradScaler" in text for text in view.sources.values()):
        raise CannotEdit("grad_scaler", path=region.path)
    if any("autocast" in parsed.code(statement) for statement in region.statements()):
        raise CannotEdit("autocast_in_source", path=region.path)
    if any(name.value == _NAME for name in parsed.nodes(cst.Name)):
        raise CannotEdit("name_taken", name=_NAME)
    for node in parsed.nodes(cst.Attribute):
        if node.attr.value == "grad":
            raise CannotEdit("gradients_used", line=parsed.position(node).start.line)
    inside = set(parsed.nodes(cst.Call, inside=region.block))
    for call in parsed.nodes(cst.Call):
        if callee_name(call) in _CLIPS and call not in inside:
            raise CannotEdit("gradients_used", line=_line(file, call))
    for path, text in view.sources.items():
        if path != region.path and _GRADIENTS.search(text):
            raise CannotEdit("gradients_elsewhere", path=path)


def _loss(file: "FileDraft", region: "Region") -> "cst.BaseExpression":
    """Return what `loss.backward()` differentiates; refuses other ways of writing it."""
    import libcst as cst  # noqa: PLC0415  imported when an edit is made

    call = _plain_call(region.backward)
    if region.split is not None or call is None or not isinstance(call.func, cst.Attribute):
        raise CannotEdit("scaler_unclear", line=_line(file, region.backward))
    if call.func.attr.value != "backward":
        raise CannotEdit("scaler_unclear", line=_line(file, region.backward))
    return call.func.value


def _steps(file: "FileDraft", region: "Region", view: View) -> "list[tuple[Statement, str, cst.Call]]":
    """Return the statement, optimizer and call of each step: one for each optimizer, after the backward, in its block."""
    import libcst as cst  # noqa: PLC0415  imported when an edit is made

    parsed, found = file.parsed, []
    body = list(region.block.body)
    after = body[body.index(region.backward) + 1 :] if region.backward in body else []
    names = _optimizer_names(file, region, view)
    for call in parsed.nodes(cst.Call):
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "step":
            continue
        name = parsed.code(call.func.value)
        if name not in names:
            continue
        statement = parsed.statement(call)
        if statement not in after or _plain_call(statement) is not call:
            raise CannotEdit("scaler_unclear", line=_line(file, call))
        found.append((statement, name, call))
    if sorted(name for _, name, _ in found) != sorted(names):
        raise CannotEdit("scaler_unclear", line=_line(file, region.backward))
    return sorted(found, key=lambda step: body.index(step[0]))


def _optimizer_names(file: "FileDraft", region: "Region", view: View) -> list[str]:
    """Return the names that the optimizers have where they are made, which the training step must see too."""
    import libcst as cst  # noqa: PLC0415  imported when an edit is made

    from pitstop.treat.edit.sites import call_at, callee_name  # noqa: PLC0415

    parsed, names = file.parsed, []
    for optimizer in view.evidence.optimizers:
        if not optimizer.stack or optimizer.stack[-1].path != region.path:
            raise CannotEdit("scaler_apart")
        made = optimizer.optimizer_class.rsplit(".", 1)[-1]
        call = call_at(parsed, optimizer.stack[-1], likely=lambda call, made=made: callee_name(call) == made)  # type: ignore[misc]
        assignment = parsed.parent(call)
        if not isinstance(assignment, cst.Assign) or len(assignment.targets) != 1:
            raise CannotEdit("scaler_unclear", line=_line(file, call))
        target = assignment.targets[0].target
        scope = parsed.scope(parsed.statement(call))
        if not isinstance(target, cst.Name) or scope not in (parsed.module, parsed.scope(region.backward)):
            raise CannotEdit("scaler_apart")
        names.append(target.value)
    if not names:
        raise CannotEdit("no_optimizer")
    return names


def _clips(file: "FileDraft", region: "Region", step: "cst.CSTNode") -> "list[cst.SimpleStatementLine]":
    """Return the first statement between the backward and `step` that clips gradients, if any."""
    import libcst as cst  # noqa: PLC0415  imported when an edit is made

    from pitstop.treat.edit.sites import callee_name  # noqa: PLC0415

    body = list(region.block.body)
    for statement in body[body.index(region.backward) + 1 : body.index(step)]:  # type: ignore[arg-type]
        if any(callee_name(call) in _CLIPS for call in file.parsed.nodes(cst.Call, inside=statement)):
            return [statement]  # type: ignore[list-item]
    return []


def _plain_call(statement: "cst.CSTNode") -> "cst.Call | None":
    """Return the call without arguments that is all of a statement."""
    import libcst as cst  # noqa: PLC0415  imported when an edit is made

    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    only = statement.body[0]
    call = only.value if isinstance(only, cst.Expr) else None
    return call if isinstance(call, cst.Call) and not call.args else None


def _line(file: "FileDraft", node: "cst.CSTNode") -> int:
    return file.parsed.position(node).start.line
