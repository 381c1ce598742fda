"""`non-blocking`: batches go to the GPU from page-locked memory while the program goes on."""

import re
from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.devices import on_cuda
from pitstop.treat.pin_memory import PinMemory
from pitstop.treat.roles import training_loaders

if TYPE_CHECKING:
    import libcst as cst

    from pitstop.treat.edit import Draft
    from pitstop.treat.edit.file import FileDraft
    from pitstop.treat.edit.regions import Region

__all__ = ["NonBlocking"]

_POSITIONS = {"to": 2, "cuda": 1}  # of non_blocking among the arguments
_DTYPE = re.compile(r"\b(float|double|half|long|int|bool|bfloat|uint)\w*$|dtype$")


class NonBlocking:
    """`pin_memory=True` at the training loaders, and `non_blocking=True` where their batches are copied."""

    name = "non-blocking"
    layer = "data"
    title = Text(en="Batches copied to the GPU without waiting", zh="批次拷贝到 GPU 时不等待")
    explanation = Text(
        en="From page-locked memory the GPU fetches a batch by itself. With non_blocking=True the program does not wait for that, and queues its "
        "next operations meanwhile; the GPU keeps their order. Values do not change.",
        zh="GPU 可以自行从锁页内存取批次。设置 non_blocking=True 后程序不等待拷贝完成，继续提交后面的操作；GPU 保证执行顺序。数值不变。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal, where the model is on a CUDA device and loaders feed it; it excludes `pin-memory`, of which it is more."""
        if not on_cuda(view):
            return CannotApply(treatment=self.name, reason=say("treat.no_gpu_used"))
        if not training_loaders(view):
            return CannotApply(treatment=self.name, reason=say("treat.no_loader"))
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"non_blocking": True},
                numerics=Numerics.EXACT,
                ceiling=amdahl(view.ledger, "host_to_device", "sync"),
                group=PinMemory.name,
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:
        """Set the argument at each copy of what the loop's target holds, and pin what is not pinned."""
        from pitstop.treat.edit.arguments import ArgumentEdit  # noqa: PLC0415  libcst is imported when an edit is made
        from pitstop.treat.edit.regions import find_regions  # noqa: PLC0415

        found = False
        for region in find_regions(draft, view.evidence):
            file = draft.file(region.path)
            for call in _copies(file, region):
                file.edit_argument(call, ArgumentEdit(keyword="non_blocking", code="True"))
                found = True
        if not found:
            raise CannotEdit("no_copies")
        PinMemory().edit(draft, view, proposal)


def _copies(file: "FileDraft", region: "Region") -> "list[cst.Call]":
    """Return the blocking copies, in the loop around a region, of what each of its passes is given."""
    import libcst as cst  # noqa: PLC0415  imported when an edit is made

    parsed = file.parsed
    loop = next((at for at in parsed.ancestors(region.backward) if isinstance(at, cst.For)), None)
    if loop is None:
        return []
    batch = {name.value for name in parsed.nodes(cst.Name, inside=loop.target)}
    if isinstance(loop.target, cst.Name):
        batch.add(loop.target.value)
    for assignment in parsed.nodes(cst.Assign, inside=loop.body):  # images, labels = batch
        if _root(assignment.value) in batch:
            for target in assignment.targets:
                batch |= {target.target.value} if isinstance(target.target, cst.Name) else set()
                batch |= {name.value for name in parsed.nodes(cst.Name, inside=target.target)}
    return [call for call in parsed.nodes(cst.Call, inside=loop.body) if _is_copy(file, call, batch)]


def _is_copy(file: "FileDraft", call: "cst.Call", batch: set[str]) -> bool:
    import libcst as cst  # noqa: PLC0415  imported when an edit is made

    if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in _POSITIONS:
        return False
    name, plain = call.func.attr.value, [arg for arg in call.args if arg.keyword is None]
    if any(arg.star for arg in call.args) or len(plain) > _POSITIONS[name]:
        return False
    if any(arg.keyword is not None and arg.keyword.value == "non_blocking" for arg in call.args):
        return False
    device = plain[0].value if plain else None
    if name == "to" and (device is None or _DTYPE.search(file.parsed.code(device))):
        return False
    return _root(call.func.value) in batch


def _root(value: "cst.BaseExpression") -> str | None:
    """Return the name that an expression of subscripts and attributes begins with."""
    import libcst as cst  # noqa: PLC0415  imported when an edit is made

    while isinstance(value, cst.Attribute | cst.Subscript):
        value = value.value
    return value.value if isinstance(value, cst.Name) else None
