"""`threads`: how many threads one operation uses."""

from math import inf
from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, Numerics, Proposal, Site
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import CannotEdit, View

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["Threads", "set_threads", "threads_now"]

_CALL = "set_num_threads"


class Threads:
    """OMP_NUM_THREADS on the launch line, or `torch.set_num_threads` where the script itself decides."""

    name = "threads"
    layer = "environment"
    title = Text(en="Threads per operation", zh="每个算子的线程数")
    explanation = Text(
        en="Sets how many CPU threads work on one operation. Too few leave processors idle; too many wait for each other and for the loader's "
        "workers, which small operations feel most. Sums are split differently, so that the last bits may differ.",
        zh="设置一个算子使用多少 CPU 线程。太少会让处理器空闲；太多则彼此等待并与加载器的工作进程争抢，小算子受影响最大。"
        "求和的划分不同，末位可能不同。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """All usable CPUs, all but one, and one; other than the present number."""
        now = threads_now(view)
        if now is None:
            return CannotApply(treatment=self.name, reason=say("treat.threads_unknown"))
        counts = sorted({max(view.cpus, 1), max(view.cpus - 1, 1), 1} - {now})
        if not counts:
            return CannotApply(treatment=self.name, reason=say("treat.one_cpu"))
        ceiling = amdahl(view.ledger, "forward", "backward", "optimizer", "evaluation")
        return tuple(
            Proposal(
                name=f"{self.name}={count}",
                treatment=self.name,
                setting={"threads": count},
                numerics=Numerics.SAME_MATH,
                ceiling=ceiling if count > now else inf,
                group=self.name,
            )
            for count in counts
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:
        """Change the environment, or the call in the main script (added after its imports where it has none)."""
        set_threads(draft, view, int(proposal.setting["threads"]))


def set_threads(draft: "Draft", view: View, count: int) -> None:
    """Let one operation use `count` threads: on the launch line, or in the main script where that sets the number itself."""
    if not _main_text(view).count(f"{_CALL}("):
        draft.set_environment("OMP_NUM_THREADS", str(count))
        return
    environment = view.evidence.environment
    if environment is None or environment.script is None:
        raise CannotEdit("no_script")
    _edit_script(draft, view, environment.script, str(count))


def _edit_script(draft: "Draft", view: View, path: str, count: str) -> None:
    import libcst as cst  # noqa: PLC0415  imported when an edit is made

    from pitstop.treat.edit.decided import set_where_decided  # noqa: PLC0415
    from pitstop.treat.edit.file import Rank  # noqa: PLC0415
    from pitstop.treat.edit.sites import callee_name  # noqa: PLC0415

    file = draft.file(path)
    calls = [call for call in file.parsed.nodes(cst.Call) if callee_name(call) == _CALL and len(call.args) == 1]
    if len(calls) > 1:
        raise CannotEdit("several_calls", path=path, line=file.parsed.position(calls[0]).start.line)
    if calls:
        value, now = calls[0].args[0].value, threads_now(view)
        if not set_where_decided(draft, view, value, stack=(Site(path=path, line=1),), now=now, code=count):
            file.replace(value, count)
        return
    torch = file.import_name("torch")
    file.insert_after_imports(f"{torch}.{_CALL}({count})", rank=Rank.SETTING)


def threads_now(view: View) -> int | None:
    """Return how many threads one operation of the training process used, None where that was not seen."""
    environment = view.evidence.environment
    return environment.intra_op_threads if environment is not None else None


def _main_text(view: View) -> str:
    environment = view.evidence.environment
    return view.sources.get(environment.script or "", "") if environment is not None else ""
