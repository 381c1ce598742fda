"""`gc-collect-off` and `empty-cache-off`: calls that free nothing the program needs are taken out of its steps."""

from math import inf
from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CallSighting, CannotApply, Numerics, Proposal
from pitstop.treat.contract import CannotEdit, View

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["EmptyCacheOff", "GcCollectOff"]

_EACH_STEP = 0.5  # calls per step; one per epoch costs nothing and may have a reason
_LEAST_SHARE = 0.01  # of a step: below that no trial could tell the difference


class _CallOff:
    """The statement that makes the call is removed. `function`: its full name."""

    name: str
    function: str
    layer = "memory"

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal for all places that make the call in most steps."""
        calls = self._calls(view)
        if not calls:
            return CannotApply(treatment=self.name, reason=say("treat.not_called", function=self.function))
        share = _share(view, calls)
        reason = self._pointless(view, share)
        if reason is not None:
            return CannotApply(treatment=self.name, reason=reason)
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"calls": False},
                numerics=Numerics.EXACT,
                ceiling=self._ceiling(share),
                group=self.name,
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:  # noqa: ARG002  one setting only
        """Remove each statement; where a block has no other, `pass` takes its place."""
        from pitstop.treat.edit.setting import calls_class  # noqa: PLC0415  libcst is imported when an edit is made
        from pitstop.treat.edit.sites import call_at, callee_name  # noqa: PLC0415

        wanted = self.function.rpartition(".")[2]
        for seen in self._calls(view):
            site = seen.stack[-1]
            file = draft.file(site.path)
            call = call_at(file.parsed, site, likely=lambda call: callee_name(call) == wanted)
            if not calls_class(file, call, wanted):
                raise CannotEdit(
                    "not_the_class", line=site.line, wanted=self.function, found=file.parsed.code(call.func)
                )
            file.remove(call)

    def _calls(self, view: View) -> tuple[CallSighting, ...]:
        return tuple(
            call
            for call in view.evidence.calls
            if call.function == self.function and call.per_step >= _EACH_STEP and call.stack
        )

    def _pointless(self, view: View, share: float) -> str | None:
        raise NotImplementedError

    def _ceiling(self, share: float) -> float:
        raise NotImplementedError


class GcCollectOff(_CallOff):
    """No `gc.collect()` in a step."""

    name = "gc-collect-off"
    function = "gc.collect"
    title = Text(en="No forced garbage collection in each step", zh="不再每步强制垃圾回收")
    explanation = Text(
        en="gc.collect() walks over every container object of the process. Tensors are freed without it, as soon as nothing refers to them; what "
        "stands in cycles is collected by Python when enough has gathered. Values do not change.",
        zh="gc.collect() 会遍历进程中所有容器对象。张量在不再被引用时立即释放，不依赖它；"
        "循环引用的对象积累到一定数量后由 Python 自行回收。数值不变。",
    )

    def _pointless(self, view: View, share: float) -> str | None:  # noqa: ARG002
        return say("treat.gc_small", share=f"{share:.1%}") if share < _LEAST_SHARE else None

    def _ceiling(self, share: float) -> float:
        return 1.0 / (1.0 - share) if share < 1.0 else inf


class EmptyCacheOff(_CallOff):
    """No `torch.cuda.empty_cache()` in a step."""

    name = "empty-cache-off"
    function = "torch.cuda.empty_cache"
    title = Text(en="The device's memory cache kept between steps", zh="步间保留显存缓存")
    explanation = Text(
        en="torch.cuda.empty_cache() gives memory that the allocator keeps for reuse back to the driver, which waits for the device; the next step "
        "asks for it again. It frees nothing that the program itself could not use. Values do not change; other processes see less free memory.",
        zh="torch.cuda.empty_cache() 把分配器留作复用的显存还给驱动（需等待设备），下一步又要重新申请。"
        "程序自身可用的显存并不因此增加。数值不变；其他进程看到的空闲显存会变少。",
    )

    def _pointless(self, view: View, share: float) -> str | None:  # noqa: ARG002
        on_device = any(forward.device.startswith("cuda") for forward in view.evidence.forwards)
        return None if on_device else say("treat.no_gpu_used")

    def _ceiling(self, share: float) -> float:  # noqa: ARG002
        return inf  # what asking the driver again costs the next step is not known


def _share(view: View, calls: tuple[CallSighting, ...]) -> float:
    ledger = view.ledger
    if not ledger.wall_ns or not ledger.steps:
        return 0.0
    return min(1.0, sum(call.step_ns for call in calls) * ledger.steps / ledger.wall_ns)
