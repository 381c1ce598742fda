"""`channels-last`: convolution weights in the memory format that the kernels like."""

from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, ForwardSighting, Numerics, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.training import named_modules, training_forwards

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["ChannelsLast"]


class ChannelsLast:
    """`model.to(memory_format=torch.channels_last)` before the optimizer is made; activations follow the weights."""

    name = "channels-last"
    layer = "compute"
    title = Text(en="Channels-last memory format", zh="channels-last 内存格式")
    explanation = Text(
        en="Convolution weights are stored with the channels of a pixel side by side. The fast convolution kernels work in that order, so that "
        "they need not reorder each batch; activations follow by themselves. The same sums, in another order.",
        zh="卷积权重按每个像素的通道相邻的方式存放。快速卷积内核按这种顺序工作，不必再为每个批次重排；激活值会自动跟随。求和相同，仅顺序不同。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal, where a training module has 2-d convolutions fed with 4-d batches."""
        forwards = training_forwards(view.evidence)
        if not any(forward.num_conv for forward in forwards):
            return CannotApply(treatment=self.name, reason=say("treat.no_convolutions"))
        wanted = [forward for forward in forwards if _suits(forward)]
        if not wanted:
            already = any(forward.channels_last for forward in forwards)
            return CannotApply(
                treatment=self.name, reason=say("treat.channels_last_already" if already else "treat.no_images")
            )
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"memory_format": "channels_last"},
                numerics=Numerics.SAME_MATH,
                ceiling=amdahl(view.ledger, "forward", "backward"),
                group=self.name,
                acts_on="training",
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:
        """Insert the statement for each such module."""
        from pitstop.treat.edit.anchors import insert_for_module  # noqa: PLC0415  libcst is imported when an edit is made
        from pitstop.treat.edit.file import Rank  # noqa: PLC0415

        modules = [module for module in named_modules(view.evidence) if _suits(module.forward)]
        if not modules:
            raise CannotEdit("no_name")
        for module in modules:
            file = draft.file(module.site.path)
            torch = file.import_name("torch")
            code = f"{module.expression}.to(memory_format={torch}.{proposal.setting['memory_format']})"
            insert_for_module(file, module, code, rank=Rank.FORMAT)


def _suits(forward: ForwardSighting) -> bool:
    four_d = any(len(shape) == 4 for shape in forward.input_shapes) or not forward.input_shapes
    return bool(forward.num_conv) and four_d and not forward.channels_last
