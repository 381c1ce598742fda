"""`bf16-autocast`: forward and loss in bfloat16 where that is safe."""

from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.frameworks import set_in_framework, training_library
from pitstop.treat.training import training_forwards

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["Bf16Autocast"]


class Bf16Autocast:
    """`with torch.autocast(..., dtype=torch.bfloat16):` around every forward-and-loss region of the training step."""

    name = "bf16-autocast"
    layer = "compute"
    title = Text(en="Compute forward and loss in bfloat16", zh="前向与损失使用 bfloat16 计算")
    explanation = Text(
        en="Under autocast, matrix products and convolutions run in bfloat16 and the sums that need it stay in float32; weights and optimizer "
        "state stay in float32. Processors with bfloat16 units do more such operations per second and move half the bytes. Results "
        "change within the precision of the format (8 bits of mantissa).",
        zh="在 autocast 下，矩阵乘法和卷积以 bfloat16 运行，需要精度的求和仍为 float32；权重和优化器状态保持 float32。"
        "具有 bfloat16 单元的处理器每秒可执行更多这类运算，搬运的字节减半。结果在该格式的精度（8 位尾数）内变化。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal, unless the program already computes in another precision."""
        reason = _obstacle(view)
        if reason is not None:
            return CannotApply(treatment=self.name, reason=reason)
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"dtype": "bfloat16"},
                numerics=Numerics.PRECISION,
                ceiling=amdahl(view.ledger, "forward", "backward"),
                group=self.name,
                acts_on="training",
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:
        """Wrap the regions, splitting `f(x).backward()` where it must be; where a framework trains, use its own setting."""
        if set_in_framework(draft, view, training_library(view.evidence), "bf16"):
            return
        from pitstop.treat.edit.regions import find_regions  # noqa: PLC0415  libcst is imported when an edit is made

        for region in find_regions(draft, view.evidence):
            file = draft.file(region.path)
            if "GradScaler" in view.sources[region.path]:
                raise CannotEdit("grad_scaler", path=region.path)
            if any("autocast" in file.parsed.code(statement) for statement in region.statements()):
                raise CannotEdit("autocast_in_source", path=region.path)
            torch = file.import_name("torch")
            device = file.style.string(region.device.split(":")[0])
            header = f"with {torch}.autocast(device_type={device}, dtype={torch}.{proposal.setting['dtype']}):"
            region.split_loss(file)
            file.wrap(region.block, region.range, header)


def _obstacle(view: View) -> str | None:
    forwards = training_forwards(view.evidence)
    if not forwards or not view.evidence.backwards:
        return say("treat.no_training_seen")
    if any(forward.autocast is not None for forward in forwards):
        return say("treat.autocast_already")
    dtypes = {dtype.removeprefix("torch.") for forward in forwards for dtype in forward.parameter_dtypes}
    other = sorted(dtypes - {"float32"})
    if other:
        return say("treat.not_float32", dtypes=", ".join(other))
    if any(forward.traced for forward in forwards):
        return say("treat.traced")
    return None
