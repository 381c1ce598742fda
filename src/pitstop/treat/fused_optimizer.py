"""`fused-optimizer`: one kernel updates all parameters."""

from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, OptimizerSighting, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.frameworks import set_in_framework
from pitstop.treat.versions import torch_at_least

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["FusedOptimizer", "has_fused_kernel"]

# Since when torch has a fused kernel, by optimizer class, on a CPU and on a GPU (release notes of 2.0, 2.2, 2.4; Adagrad on CUDA read in 2.13).
_SINCE = {
    "Adam": {"cpu": (2, 4), "cuda": (2, 0)},
    "AdamW": {"cpu": (2, 4), "cuda": (2, 0)},
    "SGD": {"cpu": (2, 4), "cuda": (2, 2)},
    "Adagrad": {"cpu": (2, 4), "cuda": (2, 13)},
}


class FusedOptimizer:
    """`fused=True` at the constructor of every optimizer that has such a kernel."""

    name = "fused-optimizer"
    layer = "compute"
    title = Text(en="Fused optimizer step", zh="融合的优化器更新")
    explanation = Text(
        en="The update of all parameters is done by one fused kernel in place of several operations per parameter, each of which reads and writes "
        "memory and costs a call. The formula is the same; the order of roundings differs in the last bits.",
        zh="所有参数的更新由一个融合内核完成，而不是对每个参数执行多次运算（每次都要读写内存并付出一次调用开销）。公式不变，仅末位舍入顺序不同。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal for all optimizers that can be fused and are not."""
        if not view.evidence.optimizers:
            return CannotApply(treatment=self.name, reason=say("treat.no_optimizer"))
        obstacles = [_obstacle(view, optimizer) for optimizer in view.evidence.optimizers]
        if None not in obstacles:
            return CannotApply(treatment=self.name, reason=str(obstacles[0]))
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"fused": True},
                numerics=Numerics.SAME_MATH,
                ceiling=amdahl(view.ledger, "optimizer"),
                group=self.name,
                acts_on="training",
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:  # noqa: ARG002  one setting only
        """Add the argument to each call; `foreach=` gives way to it."""
        from pitstop.treat.edit.setting import calls_class, parameter_value, set_parameter  # noqa: PLC0415  imports libcst
        from pitstop.treat.edit.sites import call_at, callee_name  # noqa: PLC0415

        for optimizer in view.evidence.optimizers:
            if _obstacle(view, optimizer) is not None:
                continue
            if _is_adamw(optimizer) and set_in_framework(draft, view, optimizer.library, "fused"):
                continue
            site = optimizer.stack[-1]
            file = draft.file(site.path)
            wanted = optimizer.optimizer_class.rsplit(".", 1)[-1]
            call = call_at(file.parsed, site, likely=lambda call, wanted=wanted: callee_name(call) == wanted)  # type: ignore[misc]
            if not calls_class(file, call, wanted):
                raise CannotEdit("not_the_class", line=site.line, wanted=wanted, found=file.parsed.code(call.func))
            for keyword in ("differentiable", "capturable"):
                value = parameter_value(file, call, keyword)
                if value is not None and file.parsed.code(value) != "False":
                    raise CannotEdit("not_fusable", what=keyword)
            set_parameter(file, call, "fused", "True", instead_of="foreach")


def has_fused_kernel(view: View, optimizer: OptimizerSighting) -> bool:
    """Tell whether this version of torch has a fused kernel for the optimizer on all devices of its parameters."""
    since = _SINCE.get(optimizer.optimizer_class.rpartition(".")[2], {})
    return not _missing(view, optimizer, since)


def _missing(view: View, optimizer: OptimizerSighting, since: dict[str, tuple[int, int]]) -> list[str]:
    kinds = {device.split(":")[0] for device in optimizer.devices} or {"cpu"}
    return sorted(kind for kind in kinds if kind not in since or not torch_at_least(view, since[kind]))


def _is_adamw(optimizer: OptimizerSighting) -> bool:
    """Tell whether it is what frameworks' choice of a fused optimizer is, too."""
    return optimizer.optimizer_class.rsplit(".", 1)[-1] == "AdamW"


def _obstacle(view: View, optimizer: OptimizerSighting) -> str | None:
    if not optimizer.stack:
        return say("treat.made_by_library")
    module, _, name = optimizer.optimizer_class.rpartition(".")
    since = _SINCE.get(name) if module.startswith("torch.optim") else None
    if since is None:
        return say("treat.no_fused_kernel", optimizer=name)
    if optimizer.fused:
        return say("treat.fused_already")
    missing = _missing(view, optimizer, since)
    if missing:
        return say("treat.no_fused_kernel_here", optimizer=name, device=", ".join(missing))
    if any(forward.sparse_embedding for forward in view.evidence.forwards):
        return say("treat.sparse_gradients")
    return None
