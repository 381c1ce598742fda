"""`anomaly-off`: autograd's anomaly detection is switched off."""

from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import CannotEdit, View

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["AnomalyOff"]

_SWITCH = "set_detect_anomaly"


class AnomalyOff:
    """`False` at every call that switches it on."""

    name = "anomaly-off"
    layer = "compute"
    title = Text(en="Anomaly detection off", zh="关闭异常检测")
    explanation = Text(
        en="Anomaly detection keeps a Python traceback for every operation of the forward and looks for NaN in every gradient of the backward. "
        "It is for hunting a NaN. Values do not change; a NaN no longer ends the program.",
        zh="异常检测为前向的每个操作保存一份 Python 调用栈，并在反向的每个梯度中查找 NaN，只适合在排查 NaN 时使用。"
        "数值不变；出现 NaN 时程序不再因此终止。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal, where the project's own sources switch it on."""
        environment = view.evidence.environment
        if not view.evidence.anomalies:
            is_on = environment is not None and environment.anomaly_detection
            key = "treat.anomaly_by_library" if is_on else "treat.anomaly_is_off"
            return CannotApply(treatment=self.name, reason=say(key))
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"anomaly_detection": False},
                numerics=Numerics.EXACT,
                ceiling=amdahl(view.ledger, "forward", "backward"),
                group=self.name,
                acts_on="training",
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:  # noqa: ARG002  one setting only
        """Set the argument of each switch; a context manager that can only be on becomes one that is off."""
        from pitstop.treat.edit.setting import calls_class, set_parameter  # noqa: PLC0415  libcst is imported when an edit is made
        from pitstop.treat.edit.sites import call_at, callee_name  # noqa: PLC0415

        for seen in view.evidence.anomalies:
            site = seen.stack[-1]
            file = draft.file(site.path)
            wanted = seen.function
            call = call_at(file.parsed, site, likely=lambda call, wanted=wanted: callee_name(call) == wanted)  # type: ignore[misc]
            if not calls_class(file, call, wanted):
                raise CannotEdit("not_the_class", line=site.line, wanted=wanted, found=file.parsed.code(call.func))
            if wanted == _SWITCH:
                set_parameter(file, call, "mode", "False", position=0)
            else:
                file.replace(call, f"{file.import_name('torch')}.autograd.{_SWITCH}(False)")
