"""`expandable-segments`: the GPU's memory in segments that can grow, so that less of it is lost between tensors."""

from math import inf
from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal
from pitstop.treat.contract import View
from pitstop.treat.devices import on_cuda, shapes_vary
from pitstop.treat.versions import torch_at_least

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["ExpandableSegments"]

_NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")


class ExpandableSegments:
    """One variable on the launch line, which torch's CUDA allocator reads."""

    name = "expandable-segments"
    layer = "memory"
    title = Text(en="GPU memory segments that grow", zh="可扩展的显存段")
    explanation = Text(
        en="torch's allocator reserves address space once and maps memory into it as needed, instead of asking the driver for one block after the "
        "other. Where sizes vary, fewer blocks lie idle, and fewer waits for the driver follow. Values do not change.",
        zh="torch 的分配器一次保留地址空间并按需映射显存，而不是向驱动逐块申请。大小多变时，闲置的块更少，等待驱动的次数也更少。数值不变。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal, on a GPU, where sizes vary or the program empties the allocator's cache itself."""
        reason = _obstacle(view)
        if reason is not None:
            return CannotApply(treatment=self.name, reason=reason)
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"expandable_segments": True},
                numerics=Numerics.EXACT,
                ceiling=inf,  # what the driver's blocks cost a step is not measured apart
                group=self.name,
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:  # noqa: ARG002  one setting only
        """Add the variable under the name that this torch reads."""
        name = _NAMES[0] if torch_at_least(view, (2, 9)) else _NAMES[1]
        draft.set_environment(name, "expandable_segments:True")


def _obstacle(view: View) -> str | None:
    if not on_cuda(view):
        return say("treat.no_gpu_used")
    environment = view.evidence.environment
    settings = {*view.program.env, *(environment.device_allocator_settings if environment is not None else ())}
    given = sorted(settings.intersection(_NAMES))
    if given:
        return say("treat.allocator_set", names=", ".join(given))
    if not torch_at_least(view, (2, 2)):
        return say("treat.old_torch", wanted="2.2")
    empties = any(call.function == "torch.cuda.empty_cache" for call in view.evidence.calls)
    return None if shapes_vary(view) or empties else say("treat.sizes_stay")
