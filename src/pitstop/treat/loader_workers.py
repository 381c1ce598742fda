"""`loader-workers`: batches are made by worker processes while the model computes."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, EnvironmentSighting, LoaderSighting, Numerics, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.frameworks import set_in_framework
from pitstop.treat.roles import evaluation_loaders, training_loaders
from pitstop.treat.threads import set_threads, threads_now

if TYPE_CHECKING:
    import libcst as cst

    from pitstop.treat.edit import Draft
    from pitstop.treat.edit.file import FileDraft

__all__ = ["LoaderWorkers"]

_POSITION = 5  # of num_workers in DataLoader(dataset, batch_size, shuffle, sampler, batch_sampler, num_workers)
_EVALUATION_SHARE = 0.02  # below this, evaluation costs less than the default margin of a verdict


class LoaderWorkers:
    """Worker counts of the training loaders, and apart from them of the evaluation loaders where evaluation costs time."""

    name = "loader-workers"
    layer = "data"
    title = Text(en="Load batches in worker processes", zh="用工作进程加载批次")
    explanation = Text(
        en="The DataLoader prepares batches in other processes while the model computes, and keeps these processes from one epoch to the "
        "next. The step no longer waits while samples are read, decoded and transformed. Random transforms draw from other random "
        "streams, so that results agree in distribution and not to the bit; each worker needs memory of its own. With `threads=n` the "
        "model's operations use fewer threads, so that every worker has a core to itself.",
        zh="DataLoader 在模型计算的同时由其他进程准备批次，并且这些进程会跨 epoch 保留。训练步不再等待样本的读取、解码和变换。"
        "随机变换使用另外的随机数流，因此结果在分布上一致而非逐位相同；每个工作进程都需要自己的内存。"
        "带 `threads=n` 时，模型的算子使用更少的线程，让每个工作进程独占一个核心。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal per worker count of a ladder up to the usable CPUs, other than the present count."""
        training = _usable(training_loaders(view))
        if not training:
            reason = say("treat.iterable_loader") if training_loaders(view) else say("treat.no_loader")
            return CannotApply(treatment=self.name, reason=reason)
        proposals = _ladder(view, training, role="training", ceiling=amdahl(view.ledger, "data_wait"))
        evaluation = _usable(evaluation_loaders(view))
        if evaluation and view.ledger.share("evaluation") >= _EVALUATION_SHARE:
            proposals += _ladder(view, evaluation, role="evaluation", ceiling=amdahl(view.ledger, "evaluation"))
        return proposals

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:
        """Set num_workers where it is decided, and persistent_workers beside it.

        Evaluation loaders whose count is decided in the same place as that of a training loader go with it.
        """
        count = int(proposal.setting["num_workers"])
        training, evaluation = _usable(training_loaders(view)), _usable(evaluation_loaders(view))
        shared = [loader for loader in evaluation if _decided_together(view, loader, training)]
        if proposal.setting["role"] == "training":
            chosen = [*training, *shared]
        else:
            chosen = [loader for loader in evaluation if loader not in shared]
            if not chosen:
                raise CannotEdit("decided_with_training")
        for loader in chosen:
            _edit_loader(draft, view, loader, count)
        if threads := int(proposal.setting.get("threads", 0)):
            set_threads(draft, view, threads)
        _guard_main(draft, view)


def _decided_together(view: View, loader: LoaderSighting, others: Sequence[LoaderSighting]) -> bool:
    from pitstop.treat.edit import Draft  # noqa: PLC0415  libcst is imported when an edit is made

    here, there = Draft(view.sources), Draft(view.sources)
    _set_count(here, view, loader, "1")
    for other in others:
        _set_count(there, view, other, "1")
    return bool(here.places() & there.places())


def _usable(loaders: tuple[LoaderSighting, ...]) -> tuple[LoaderSighting, ...]:
    return tuple(loader for loader in loaders if not loader.iterable and loader.stack)


def _ladder(view: View, loaders: tuple[LoaderSighting, ...], *, role: str, ceiling: float) -> tuple[Proposal, ...]:
    """Powers of two up to the usable CPUs, all but one CPU, and all. Fewer workers than now: the gain is not known."""
    cpus = max(view.cpus, 1)
    counts = {1 << power for power in range(cpus.bit_length()) if 1 << power <= cpus} | {cpus, max(cpus - 1, 1)}
    now = {loader.num_workers for loader in loaders}
    prefix = "loader-workers" if role == "training" else "loader-workers-evaluation"

    def proposal(count: int, *, threads: int = 0) -> Proposal:
        return Proposal(
            name=f"{prefix}={count}" + (f",threads={threads}" if threads else ""),
            treatment=LoaderWorkers.name,
            setting={"num_workers": count, "role": role, "threads": threads},
            numerics=Numerics.SAME_DISTRIBUTION,
            ceiling=ceiling if count > max(now) and not threads else inf,
            group=prefix,
            acts_on="input" if role == "training" and not threads else "",
        )

    wanted = [count for count in sorted(counts) if now != {count}]
    shared = [
        proposal(count, threads=left) for count in wanted if role == "training" and (left := _cores_left(view, count))
    ]
    return (*shared, *(proposal(count) for count in wanted))


def _cores_left(view: View, workers: int) -> int:
    """Return the threads that leave a core to each worker, or 0 where the present number does, or the model is elsewhere.

    Workers and the threads of the model's operations that together outnumber the cores wait for each other at every operation.
    """
    threads = threads_now(view)
    devices = {forward.device for forward in view.evidence.forwards if forward.num_parameters}
    if threads is None or devices != {"cpu"} or threads + workers <= view.cpus:
        return 0
    left = max(1, view.cpus - workers)
    return left if left < threads else 0


def _edit_loader(draft: "Draft", view: View, loader: LoaderSighting, count: int) -> None:
    from pitstop.treat.edit.setting import parameter_value, set_parameter  # noqa: PLC0415  libcst is imported when an edit is made

    if set_in_framework(draft, view, loader.library, "workers", value=count):
        return
    file, call = _call(draft, loader)
    persistent = _set_count(draft, view, loader, str(count))
    given = parameter_value(file, call, "persistent_workers")
    open_to_change = given is None or file.parsed.code(given) == "False"
    if not loader.persistent_workers and open_to_change and not _made_to_iterate_once(file, call):
        set_parameter(file, call, "persistent_workers", persistent)


def _call(draft: "Draft", loader: LoaderSighting) -> "tuple[FileDraft, cst.Call]":
    """Return the call that constructed the loader; raises CannotEdit where it is a library's or a factory's."""
    from pitstop.treat.edit.setting import calls_class  # noqa: PLC0415  libcst is imported when an edit is made
    from pitstop.treat.edit.sites import call_at, callee_name  # noqa: PLC0415

    site = loader.stack[-1]
    file = draft.file(site.path)
    class_name = loader.loader_class.rsplit(".", 1)[-1]
    call = call_at(file.parsed, site, likely=lambda call: callee_name(call) in (class_name, "DataLoader", "__init__"))
    if not calls_class(file, call, class_name):
        raise CannotEdit("not_the_class", line=site.line, wanted=class_name, found=file.parsed.code(call.func))
    return file, call


def _set_count(draft: "Draft", view: View, loader: LoaderSighting, count: str) -> str:
    """Set num_workers where it is decided; return the condition under which workers may persist."""
    import libcst as cst  # noqa: PLC0415  imported when an edit is made

    from pitstop.treat.edit.decided import set_where_decided  # noqa: PLC0415
    from pitstop.treat.edit.setting import parameter_value, set_parameter  # noqa: PLC0415

    if set_in_framework(draft, view, loader.library, "workers", value=int(count)):
        return "True"
    file, call = _call(draft, loader)
    value = parameter_value(file, call, "num_workers", position=_POSITION)
    if value is None or not set_where_decided(
        draft, view, value, stack=loader.stack, now=loader.num_workers, code=count
    ):
        set_parameter(file, call, "num_workers", count, position=_POSITION)
        return "True"
    return "True" if isinstance(value, cst.Integer) else f"{file.parsed.code(value)} > 0"


def _made_to_iterate_once(file: "FileDraft", call: "cst.Call") -> bool:
    """Say whether the loader has no name, as in `for batch in DataLoader(...)`: nobody iterates it again."""
    import libcst as cst  # noqa: PLC0415  imported when an edit is made

    return any(
        isinstance(at, cst.For) and call in file.parsed.nodes(cst.Call, inside=at.iter)
        for at in file.parsed.ancestors(call)
    )


def _guard_main(draft: "Draft", view: View) -> None:
    """Where workers import the main script anew, its own work must stand under the main guard."""
    environment = view.evidence.environment
    if (
        environment is None
        or environment.main_guard
        or environment.script is None
        or not _imports_anew(view, environment)
    ):
        return
    from pitstop.treat.edit.guard import guard_script  # noqa: PLC0415  libcst is imported when an edit is made

    guard_script(draft.file(environment.script))


def _imports_anew(view: View, environment: EnvironmentSighting) -> bool:
    """Spawn and forkserver import the script in each worker; forkserver is the default on Linux from Python 3.14."""
    contexts = {loader.multiprocessing_context for loader in view.evidence.loaders} - {None}
    method = environment.start_method
    if method is None:
        version = tuple(int(part) for part in environment.python.split(".")[:2])
        method = "forkserver" if version >= (3, 14) else "fork"
    return bool({method, *contexts} & {"spawn", "forkserver"})
