"""`cudnn-benchmark`: cuDNN tries its convolution algorithms and keeps the fastest."""

from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import View
from pitstop.treat.devices import on_cuda, shapes_vary
from pitstop.treat.training import training_forwards

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["CudnnBenchmark"]


class CudnnBenchmark:
    """`torch.backends.cudnn.benchmark = True`."""

    name = "cudnn-benchmark"
    layer = "compute"
    title = Text(en="Convolution algorithms chosen by trial", zh="通过试跑选择卷积算法")
    explanation = Text(
        en="For each new shape cuDNN runs its convolution algorithms once and keeps the fastest, instead of guessing. It pays where shapes stay the "
        "same. The same sums in another order; the choice may differ between two runs.",
        zh="对每种新形状，cuDNN 把各种卷积算法各跑一次并保留最快的，而不是猜测；形状不变时才划算。求和相同，仅顺序不同；两次运行的选择可能不同。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal, for convolutions on a GPU whose inputs keep their shape, where the program does not ask for determinism."""
        reason = _obstacle(view)
        if reason is not None:
            return CannotApply(treatment=self.name, reason=reason)
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"benchmark": True},
                numerics=Numerics.SAME_MATH,
                ceiling=amdahl(view.ledger, "forward", "backward", "optimizer", "sync", "evaluation"),
                group=self.name,
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:  # noqa: ARG002  one setting only
        """Add the assignment after the imports of the main script, or change those that are there."""
        from pitstop.treat.edit.switches import set_attribute  # noqa: PLC0415  libcst is imported when an edit is made

        set_attribute(draft, view, "backends.cudnn.benchmark", "True")


def _obstacle(view: View) -> str | None:
    environment = view.evidence.environment
    if not on_cuda(view):
        return say("treat.no_gpu_used")
    if not any(forward.num_conv for forward in training_forwards(view.evidence)):
        return say("treat.no_convolutions")
    if environment is not None and environment.cudnn_benchmark:
        return say("treat.benchmark_already")
    if environment is not None and (environment.deterministic or environment.cudnn_deterministic):
        return say("treat.deterministic_wanted")
    if shapes_vary(view):
        return say("treat.shapes_vary")
    return None
