"""`gc-freeze`: what is built before training is taken out of Python's garbage collection."""

from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import CannotEdit, View

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["GcFreeze"]

_LEAST_SHARE = 0.01  # of a step: below that no trial could tell the difference


class GcFreeze:
    """`gc.collect()` and `gc.freeze()` once the optimizer is made."""

    name = "gc-freeze"
    layer = "memory"
    title = Text(en="Long-lived objects out of garbage collection", zh="长期对象不参与垃圾回收")
    explanation = Text(
        en="Python's cyclic garbage collector walks over all objects that live long, again and again: imported modules, the dataset's lists, the "
        "model. gc.freeze() takes those that exist when training begins out of its way. What training makes is collected as before; values do not "
        "change.",
        zh="Python 的循环垃圾回收器会一再遍历所有长期存活的对象：已导入的模块、数据集的列表、模型。"
        "gc.freeze() 让训练开始时已存在的对象不再参与；训练中产生的对象照常回收。数值不变。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal, where collections take a measurable part of the step."""
        part = view.ledger.share("gc")
        if part < _LEAST_SHARE:
            return CannotApply(treatment=self.name, reason=say("treat.gc_small", share=f"{part:.1%}"))
        if not any(optimizer.stack for optimizer in view.evidence.optimizers):
            key = "treat.made_by_library" if view.evidence.optimizers else "treat.no_optimizer"
            return CannotApply(treatment=self.name, reason=say(key))
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"freeze": True},
                numerics=Numerics.EXACT,
                ceiling=amdahl(view.ledger, "gc"),
                group=self.name,
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:  # noqa: ARG002  one setting only
        """Put both calls after the statement that makes the last optimizer."""
        from pitstop.treat.edit.anchors import insert_after_making, is_repeated  # noqa: PLC0415  imports libcst
        from pitstop.treat.edit.file import Rank  # noqa: PLC0415
        from pitstop.treat.edit.imports import means_only  # noqa: PLC0415

        seen = [optimizer for optimizer in view.evidence.optimizers if optimizer.stack]
        made = [optimizer.stack for optimizer in seen]
        if not made:
            raise CannotEdit("made_by_library")
        site = made[-1][-1]
        # Frozen anew in each fold, a model in a cycle that is alive then would never be freed.
        seen_again = sum(stack[-1] == site for stack in made) > 1
        own = (place for place in made[-1] if place.path in view.sources)
        if seen_again or any(is_repeated(draft.file(place.path).parsed, place) for place in own):
            raise CannotEdit("made_in_loop", line=site.line)
        file = draft.file(site.path)
        gc, name = file.import_name("gc"), seen[-1].optimizer_class.rsplit(".", 1)[-1]
        if not means_only(file.parsed, gc, module="gc", before=site.line):
            raise CannotEdit("name_taken", name=gc)
        insert_after_making(file, site, (f"{gc}.collect()", f"{gc}.freeze()"), made=name, rank=Rank.SETTING)
