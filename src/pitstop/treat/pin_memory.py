"""`pin-memory`: batches are put into page-locked memory before they go to the GPU."""

from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.frameworks import set_in_framework
from pitstop.treat.roles import training_loaders
from pitstop.treat.training import training_forwards

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["PinMemory"]

_POSITION = 7  # of pin_memory in DataLoader(...)


class PinMemory:
    """`pin_memory=True` at the loaders that feed a model on a GPU."""

    name = "pin-memory"
    layer = "data"
    title = Text(en="Pinned host memory for batches", zh="批次使用锁页内存")
    explanation = Text(
        en="A thread of the DataLoader copies each batch into page-locked memory, from which the GPU fetches it by itself, without "
        "another copy by the driver. Values do not change; the host's memory in use grows by a few batches.",
        zh="DataLoader 的一个线程把每个批次复制到锁页内存，GPU 可以自行读取，驱动不必再复制一次。数值不变；主机内存占用增加几个批次。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal, where the model is on a CUDA device and a training loader is not pinned."""
        if not any(forward.device.startswith("cuda") for forward in training_forwards(view.evidence)):
            return CannotApply(treatment=self.name, reason=say("treat.no_gpu_used"))
        loaders = training_loaders(view)
        if not loaders:
            return CannotApply(treatment=self.name, reason=say("treat.no_loader"))
        if all(loader.pin_memory for loader in loaders):
            return CannotApply(treatment=self.name, reason=say("treat.pinned_already"))
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"pin_memory": True},
                numerics=Numerics.EXACT,
                ceiling=amdahl(view.ledger, "host_to_device", "sync"),
                group=self.name,
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:  # noqa: ARG002  one setting only
        """Set the argument at each training loader's call."""
        from pitstop.treat.edit.setting import calls_class, set_parameter  # noqa: PLC0415  libcst is imported when an edit is made
        from pitstop.treat.edit.sites import call_at, callee_name  # noqa: PLC0415

        for loader in training_loaders(view):
            if loader.pin_memory:
                continue
            if set_in_framework(draft, view, loader.library, "pinned"):
                continue
            site = loader.stack[-1]
            file = draft.file(site.path)
            name = loader.loader_class.rsplit(".", 1)[-1]
            call = call_at(file.parsed, site, likely=lambda call, name=name: callee_name(call) == name)  # type: ignore[misc]
            if not calls_class(file, call, name):
                raise CannotEdit("not_the_class", line=site.line, wanted=name, found=file.parsed.code(call.func))
            set_parameter(file, call, "pin_memory", "True", position=_POSITION)
