"""`compile`: the model, or forward and loss together, through torch.compile."""

from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import View
from pitstop.treat.devices import on_cuda, shapes_vary
from pitstop.treat.frameworks import set_in_framework, training_library
from pitstop.treat.training import named_modules, training_forwards
from pitstop.treat.versions import torch_at_least

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft
    from pitstop.treat.edit.file import FileDraft

__all__ = ["Compile"]


class Compile:
    """`model.compile()` before the optimizer is made; where that would do nothing, a compiled function of forward and loss."""

    name = "compile"
    layer = "compute"
    title = Text(en="Compile the model", zh="编译模型")
    explanation = Text(
        en="torch.compile turns forward and backward into fused kernels: intermediate results stay in registers and caches, and Python no longer "
        "runs between operations. The first steps take longer, by the time of compilation. The mathematics is the same; the order of roundings "
        "differs, and dropout draws other masks.",
        zh="torch.compile 把前向和反向变成融合内核：中间结果留在寄存器和缓存中，算子之间不再运行 Python。最初几步因编译而更慢。"
        "数学上相同；舍入顺序不同，dropout 的掩码也不同。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """Default mode; on a GPU also those that help there, and one graph for all shapes where inputs have several."""
        forwards = training_forwards(view.evidence)
        if not forwards:
            return CannotApply(treatment=self.name, reason=say("treat.no_training_seen"))
        if all(forward.compiled for forward in forwards):
            return CannotApply(treatment=self.name, reason=say("treat.compiled_already"))
        if all(forward.traced for forward in forwards):
            return CannotApply(treatment=self.name, reason=say("treat.traced"))
        if not torch_at_least(view, (2, 0)):
            return CannotApply(treatment=self.name, reason=say("treat.old_torch", wanted="2.0"))
        ceiling = amdahl(view.ledger, "forward", "backward")
        return tuple(
            Proposal(
                name=self.name if mode == "default" else f"{self.name}={mode}",
                treatment=self.name,
                setting={"mode": mode},
                numerics=Numerics.SAME_MATH,
                ceiling=ceiling,
                group=self.name,
                acts_on="training",
                compiles=True,
            )
            for mode in _modes(view)
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:
        """In place where every training module has a name and a forward of its own, else forward and loss as a function.

        Where a framework trains, by its own setting.
        """
        mode = str(proposal.setting["mode"])
        if set_in_framework(draft, view, training_library(view.evidence), "compile", value=mode):
            return
        modules = named_modules(view.evidence)
        outside = {forward.id for forward in training_forwards(view.evidence)} - {
            module.forward.id for module in modules
        }
        # Module.compile() of a module whose forward lives in torch compiles nothing, silently (research: 0 graphs).
        in_torch = any(forward.forward_in_torch for forward in training_forwards(view.evidence))
        if outside or in_torch or not torch_at_least(view, (2, 2)):
            _compile_regions(draft, view, str(proposal.setting["mode"]))
            return
        from pitstop.treat.edit.anchors import insert_for_module  # noqa: PLC0415  libcst is imported when an edit is made
        from pitstop.treat.edit.file import Rank  # noqa: PLC0415

        for module in modules:
            if not module.forward.compiled:
                file = draft.file(module.site.path)
                arguments = _arguments(file, str(proposal.setting["mode"]))
                insert_for_module(file, module, f"{module.expression}.compile({arguments})", rank=Rank.COMPILE)


def _modes(view: View) -> tuple[str, ...]:
    """CUDA graphs and autotuned kernels are a GPU's; shapes that vary forbid graphs, since each shape is captured anew."""
    dynamic = ("dynamic",) if shapes_vary(view) else ()
    if not on_cuda(view) or not torch_at_least(view, (2, 2)):
        return ("default", *dynamic)
    return ("default", *dynamic, *(() if dynamic else ("reduce-overhead",)), "max-autotune-no-cudagraphs")


def _arguments(file: "FileDraft", mode: str) -> str:
    if mode == "default":
        return ""
    return "dynamic=True" if mode == "dynamic" else f"mode={file.style.string(mode)}"


def _compile_regions(draft: "Draft", view: View, mode: str) -> None:
    from pitstop.treat.edit.extract import move_to_function  # noqa: PLC0415  libcst is imported when an edit is made
    from pitstop.treat.edit.regions import find_regions  # noqa: PLC0415

    for region in find_regions(draft, view.evidence):
        file = draft.file(region.path)
        arguments = _arguments(file, mode)
        decorator = f"{file.import_name('torch')}.compile"
        move_to_function(file, region, decorator=f"{decorator}({arguments})" if arguments else decorator)
