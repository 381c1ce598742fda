"""`bf16-matmul`: matrix products of float32 numbers on the bfloat16 units of a CPU."""

from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import View
from pitstop.treat.training import training_forwards
from pitstop.treat.versions import torch_at_least

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["Bf16Matmul"]

_UNITS = "amx_bf16"  # what oneDNN asks for; with avx512_bf16 alone it takes the wish and multiplies in float32


class Bf16Matmul:
    """`torch.set_float32_matmul_precision("medium")`, once, before any operation."""

    name = "bf16-matmul"
    layer = "compute"
    title = Text(en="bfloat16 units for matrix products on the CPU", zh="CPU 矩阵乘法使用 bfloat16 单元")
    explanation = Text(
        en="oneDNN rounds the factors of float32 matrix products to bfloat16 (8 bits of mantissa), multiplies them on the processor's matrix units "
        "(AMX) and sums in float32. Everything else stays float32; nothing is converted in the model. Results change within that precision.",
        zh="oneDNN 把 float32 矩阵乘法的因子舍入为 bfloat16（8 位尾数），在处理器的矩阵单元（AMX）上相乘并以 float32 求和。"
        "其他一切仍为 float32，模型无需转换。结果在该精度内变化。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal, for float32 modules on a CPU that has such units."""
        reason = _obstacle(view)
        if reason is not None:
            return CannotApply(treatment=self.name, reason=reason)
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"precision": "medium"},
                numerics=Numerics.PRECISION,
                ceiling=amdahl(view.ledger, "forward", "backward", "optimizer", "evaluation"),
                group="matmul-precision",
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:
        """Add the call after the imports of the main script, or change the one that is there."""
        from pitstop.treat.edit.switches import set_by_call  # noqa: PLC0415  libcst is imported when an edit is made

        set_by_call(draft, view, "set_float32_matmul_precision", f'"{proposal.setting["precision"]}"')


def _obstacle(view: View) -> str | None:
    forwards = [forward for forward in training_forwards(view.evidence) if forward.device == "cpu"]
    environment = view.evidence.environment
    if not forwards:
        return say("treat.no_training_on_cpu")
    if environment is None or _UNITS not in environment.cpu_flags:
        return say("treat.no_matrix_units", flag=_UNITS)
    if environment.matmul_precision == "medium":
        return say("treat.bf16_matmul_already")
    if not any("float32" in dtype for forward in forwards for dtype in forward.parameter_dtypes):
        return say("treat.no_float32")
    if not torch_at_least(view, (2, 1)):
        return say("treat.old_torch", wanted="2.1")
    return None
