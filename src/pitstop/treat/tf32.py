"""`tf32`: matrix products of float32 numbers on the tensor cores of a GPU."""

from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import View
from pitstop.treat.devices import capability, on_cuda
from pitstop.treat.training import training_forwards
from pitstop.treat.versions import torch_at_least

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["Tf32"]

_TENSOR_CORES = (8, 0)  # compute capability of the first GPUs (Ampere) whose tensor cores take TensorFloat32


class Tf32:
    """`torch.set_float32_matmul_precision("high")`, once, before any operation."""

    name = "tf32"
    layer = "compute"
    title = Text(en="TensorFloat32 for matrix products", zh="矩阵乘法使用 TensorFloat32")
    explanation = Text(
        en="The GPU's tensor cores multiply float32 numbers rounded to 10 bits of mantissa and sum them in float32, several times faster than its "
        "float32 units. Weights and activations stay float32. Results change within that precision. Convolutions do so already by default.",
        zh="GPU 的张量核心把 float32 数舍入到 10 位尾数后相乘，并以 float32 求和，比 float32 单元快数倍。"
        "权重和激活值仍为 float32，结果在该精度内变化。卷积默认已经如此。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal, for float32 modules on a GPU that has such units."""
        reason = _obstacle(view)
        if reason is not None:
            return CannotApply(treatment=self.name, reason=reason)
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"precision": "high"},
                numerics=Numerics.PRECISION,
                ceiling=amdahl(view.ledger, "forward", "backward", "optimizer", "sync", "evaluation"),
                group="matmul-precision",
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:
        """Add the call after the imports of the main script, or change the one that is there."""
        from pitstop.treat.edit.switches import set_by_call  # noqa: PLC0415  libcst is imported when an edit is made

        set_by_call(draft, view, "set_float32_matmul_precision", f'"{proposal.setting["precision"]}"')


def _obstacle(view: View) -> str | None:
    if not on_cuda(view):
        return say("treat.no_gpu_used")
    environment = view.evidence.environment
    if environment is not None and (environment.allow_tf32 or environment.matmul_precision in ("high", "medium")):
        return say("treat.tf32_already")
    least = capability(view)
    if least is not None and least < _TENSOR_CORES:
        return say("treat.no_tf32_units", capability=".".join(map(str, least)))
    if not any(
        "float32" in dtype for forward in training_forwards(view.evidence) for dtype in forward.parameter_dtypes
    ):
        return say("treat.no_float32")
    if not torch_at_least(view, (1, 12)):
        return say("treat.old_torch", wanted="1.12")
    return None
