"""`allocator-preload`: another allocator in malloc's place, where one is installed."""

from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal
from pitstop.treat.contract import View
from pitstop.treat.malloc_reuse import MallocReuse

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["AllocatorPreload"]

# Each keeps what is freed, large blocks too. jemalloc by default returns blocks of 8 MiB and more at once and others after ten
# seconds; tcmalloc returns some with every few frees, and would print to stderr when a block of 1 GiB is asked for.
_SETTINGS = {
    "jemalloc": {"MALLOC_CONF": "oversize_threshold:0,dirty_decay_ms:-1,muzzy_decay_ms:-1"},
    "tcmalloc": {"TCMALLOC_RELEASE_RATE": "0", "TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD": str(1 << 62)},
}


class AllocatorPreload:
    """jemalloc or tcmalloc through LD_PRELOAD on the launch line."""

    name = "allocator-preload"
    layer = "memory"
    title = Text(en="Another memory allocator", zh="更换内存分配器")
    explanation = Text(
        en="jemalloc and tcmalloc keep freed memory in pools per thread and size, so that the next step finds it without the kernel and threads do "
        "not wait for each other. Values do not change; the memory in use stays near its peak.",
        zh="jemalloc 和 tcmalloc 按线程和大小把释放的内存保留在池中，下一步无需经过内核即可取用，线程之间也不必互相等待。"
        "数值不变；内存占用会保持在峰值附近。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal for the first library found, where keeping freed memory could be felt; it excludes `malloc-reuse`."""
        environment = view.evidence.environment
        if environment is not None and ("LD_PRELOAD" in view.program.env or environment.preloads):
            return CannotApply(treatment=self.name, reason=say("treat.preload_set"))
        found = _found(view)
        if found is None:
            return CannotApply(treatment=self.name, reason=say("treat.no_allocator_found", names=", ".join(_SETTINGS)))
        kept = MallocReuse().propose(view)  # the same cost in the kernel is what this saves
        if isinstance(kept, CannotApply):
            return CannotApply(treatment=self.name, reason=kept.reason)
        kind, path = found
        return (
            Proposal(
                name=f"{self.name}={kind}",
                treatment=self.name,
                setting={"library": path, "kind": kind},
                numerics=Numerics.EXACT,
                ceiling=kept[0].ceiling,
                group=kept[0].group,
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:  # noqa: ARG002
        """Add the library and its settings to the launch line."""
        draft.set_environment("LD_PRELOAD", str(proposal.setting["library"]))
        for name, value in _SETTINGS[str(proposal.setting["kind"])].items():
            draft.set_environment(name, value)


def _found(view: View) -> tuple[str, str] | None:
    """Return the kind and path of the library to load, jemalloc first."""
    environment = view.evidence.environment
    paths = environment.loadable_allocators if environment is not None else ()
    for kind in _SETTINGS:
        for path in paths:
            if path.rpartition("/")[2].startswith(f"lib{kind}"):
                return kind, path
    return None
