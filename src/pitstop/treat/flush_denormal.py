"""`flush-denormal`: numbers too small for the normal format count as zero."""

from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import CannotEdit, View

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["FlushDenormal"]

_LEAST_PART = 0.001  # of the numbers read
_CALL = "set_flush_denormal"


class FlushDenormal:
    """`torch.set_flush_denormal(True)` once, before any operation: the threads that compute take the mode over when they are made."""

    name = "flush-denormal"
    layer = "compute"
    title = Text(en="Denormal numbers flushed to zero", zh="非规格化数按零处理")
    explanation = Text(
        en="Numbers below 1.2e-38 are computed by microcode on many processors, up to a hundred times slower. They count as zero instead. "
        "Values change by less than 1.2e-38 each, which no later result notices unless it divides by them.",
        zh="许多处理器用微码计算小于 1.2e-38 的数，比其他数慢多达上百倍。改为按零处理。"
        "每个数值的变化小于 1.2e-38，除非后续要除以它们，否则结果不受影响。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal, where such numbers were seen on a CPU and are not flushed yet."""
        environment = view.evidence.environment
        if environment is not None and environment.flushes_denormals:
            return CannotApply(treatment=self.name, reason=say("treat.flushed_already"))
        if not any(seen.numbers and seen.denormal >= _LEAST_PART * seen.numbers for seen in view.evidence.denormals):
            return CannotApply(treatment=self.name, reason=say("treat.no_denormals"))
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"flush_denormal": True},
                numerics=Numerics.PRECISION,
                ceiling=amdahl(view.ledger, "forward", "backward", "optimizer", "evaluation"),
                group=self.name,
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:  # noqa: ARG002  one setting only
        """Add the call after the imports of the main script, or change the one that is there."""
        import libcst as cst  # noqa: PLC0415  imported when an edit is made

        from pitstop.treat.edit.file import Rank  # noqa: PLC0415
        from pitstop.treat.edit.imports import means_only  # noqa: PLC0415
        from pitstop.treat.edit.sites import callee_name  # noqa: PLC0415

        environment = view.evidence.environment
        if environment is None or environment.script is None:
            raise CannotEdit("no_script")
        file = draft.file(environment.script)
        calls = [call for call in file.parsed.nodes(cst.Call) if callee_name(call) == _CALL and len(call.args) == 1]
        for call in calls:
            file.replace(call.args[0].value, "True")
        if calls:
            return
        torch = file.import_name("torch")
        if not means_only(file.parsed, torch, module="torch", before=1 << 30):
            raise CannotEdit("name_taken", name=torch)
        file.insert_after_imports(f"{torch}.{_CALL}(True)", rank=Rank.SETTING)
