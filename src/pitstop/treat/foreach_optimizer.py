"""`foreach-optimizer`: the update of all parameters goes through torch's list operations, where there is no fused kernel."""

from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, OptimizerSighting, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.fused_optimizer import has_fused_kernel

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["ForeachOptimizer"]

# Optimizers of torch 2.4 and later that take foreach=; those with a fused kernel are another treatment's.
_TAKES_FOREACH = frozenset(
    {"SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"}
)
_LEAST_TENSORS = 8  # one list operation in place of so many single ones; below, there is nothing to save


class ForeachOptimizer:
    """`foreach=True` at the constructor of every optimizer that takes it, has it off and cannot be fused."""

    name = "foreach-optimizer"
    layer = "compute"
    title = Text(en="Optimizer step with list operations", zh="优化器使用列表操作更新")
    explanation = Text(
        en="All parameters are updated by a few operations on lists of tensors in place of several operations for each of them, called one by one "
        "from Python. It is the default on GPUs but not on CPUs. The formula is the same; the order of roundings may differ in the last bits.",
        zh="所有参数由少数几个作用于张量列表的操作更新，而不是在 Python 中对每个参数逐一调用多个操作。"
        "GPU 上默认如此，CPU 上则不是。公式不变，仅末位舍入顺序可能不同。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal for all optimizers that it fits."""
        if not view.evidence.optimizers:
            return CannotApply(treatment=self.name, reason=say("treat.no_optimizer"))
        obstacles = [_obstacle(view, optimizer) for optimizer in view.evidence.optimizers]
        if None not in obstacles:
            return CannotApply(treatment=self.name, reason=str(obstacles[0]))
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"foreach": True},
                numerics=Numerics.SAME_MATH,
                ceiling=amdahl(view.ledger, "optimizer"),
                group=self.name,
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:  # noqa: ARG002  one setting only
        """Add the argument to each call."""
        from pitstop.treat.edit.setting import calls_class, parameter_value, set_parameter  # noqa: PLC0415  imports libcst
        from pitstop.treat.edit.sites import call_at, callee_name  # noqa: PLC0415

        for optimizer in view.evidence.optimizers:
            if _obstacle(view, optimizer) is not None:
                continue
            site = optimizer.stack[-1]
            file = draft.file(site.path)
            wanted = optimizer.optimizer_class.rsplit(".", 1)[-1]
            call = call_at(file.parsed, site, likely=lambda call, wanted=wanted: callee_name(call) == wanted)  # type: ignore[misc]
            if not calls_class(file, call, wanted):
                raise CannotEdit("not_the_class", line=site.line, wanted=wanted, found=file.parsed.code(call.func))
            value = parameter_value(file, call, "differentiable")
            if value is not None and file.parsed.code(value) != "False":
                raise CannotEdit("not_foreach", what="differentiable")
            set_parameter(file, call, "foreach", "True")


def _obstacle(view: View, optimizer: OptimizerSighting) -> str | None:
    if not optimizer.stack:
        return say("treat.made_by_library")
    module, _, name = optimizer.optimizer_class.rpartition(".")
    if not module.startswith("torch.optim") or name not in _TAKES_FOREACH:
        return say("treat.takes_no_foreach", optimizer=name)
    if optimizer.fused or has_fused_kernel(view, optimizer):
        return say("treat.fused_instead", optimizer=name)
    on_gpu = bool(optimizer.devices) and all(device.startswith("cuda") for device in optimizer.devices)
    if optimizer.foreach or (optimizer.foreach is None and on_gpu):
        return say("treat.foreach_already")
    if optimizer.num_tensors < _LEAST_TENSORS:
        return say("treat.few_tensors", tensors=optimizer.num_tensors)
    if any(forward.sparse_embedding for forward in view.evidence.forwards):
        return say("treat.sparse_gradients_foreach")
    return None
