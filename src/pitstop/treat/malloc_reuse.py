"""`malloc-reuse`: the C library keeps freed memory for the next step instead of giving it back to the kernel."""

from math import inf
from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal
from pitstop.treat.contract import View

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["MallocReuse"]

# mallopt(3): no block of its own from the kernel for large requests, and no trimming of the heap's end.
_SETTINGS = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}

# One first touch of a 4 KiB page: enter the kernel, find a page, zero it, map it. A quarter of a microsecond on bare metal, two thirds
# measured on a virtual machine with nested paging; three times that as a bound.
_MOST_NS_PER_FAULT = 2000
_LEAST_SHARE = 0.01  # of a step, at the most per fault: below that no trial could tell the difference


class MallocReuse:
    """glibc's malloc set by two variables on the launch line."""

    name = "malloc-reuse"
    layer = "memory"
    title = Text(en="Freed memory kept for the next step", zh="保留已释放的内存供下一步使用")
    explanation = Text(
        en="glibc returns large freed blocks to the kernel at once, and the next step gets them back page by page, each zeroed anew. Two "
        "environment variables let it keep them. Values do not change; the memory in use stays near its peak.",
        zh="glibc 会立刻把释放的大块内存还给内核，下一步又逐页取回，每页都要重新清零。"
        "两个环境变量让它保留这些内存。数值不变；内存占用会保持在峰值附近。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal, where glibc's malloc is in use as it comes and its page faults could be a measurable part of a step."""
        environment = view.evidence.environment
        allocator = environment.allocator if environment is not None else None
        if environment is None or allocator is None:
            return CannotApply(treatment=self.name, reason=say("treat.allocator_unknown"))
        if not allocator.startswith("glibc"):
            return CannotApply(treatment=self.name, reason=say("treat.allocator_other", allocator=allocator))
        if environment.allocator_settings:
            return CannotApply(
                treatment=self.name,
                reason=say("treat.allocator_set", names=", ".join(sorted(environment.allocator_settings))),
            )
        # With transparent huge pages for all memory a fault may clear 2 MiB: what faults cost is then not known beforehand.
        faults = environment.page_faults_per_step if environment.huge_pages != "always" else None
        step_ns = view.ledger.wall_ns / view.ledger.steps if view.ledger.steps else 0
        if faults is not None and faults * _MOST_NS_PER_FAULT < _LEAST_SHARE * step_ns:
            return CannotApply(treatment=self.name, reason=say("treat.few_page_faults", faults=round(faults)))
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"mmap_max": 0},
                numerics=Numerics.EXACT,
                ceiling=_ceiling(view, faults, step_ns),
                group=self.name,
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:  # noqa: ARG002  one setting only
        """Add both variables to the launch line."""
        for name, value in _SETTINGS.items():
            draft.set_environment(name, value)


def _ceiling(view: View, faults: float | None, step_ns: float) -> float:
    """Whole / (whole - time in page faults) at the most that a fault takes; inf where workers have faults that nobody counted."""
    if faults is None or any(loader.num_workers for loader in view.evidence.loaders):
        return inf
    rest_ns = step_ns - faults * _MOST_NS_PER_FAULT
    return step_ns / rest_ns if rest_ns > 0 else inf
