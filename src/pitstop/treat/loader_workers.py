"""`loader-workers`: batches are made by worker processes while the model computes."""

from math import inf
from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, EnvironmentSighting, LoaderSighting, Numerics, Proposal, Site
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.launch import flag_on_line, takes_options
from pitstop.treat.roles import evaluation_loaders, training_loaders

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
        "streams, so that results agree in distribution and not to the bit; each worker needs memory of its own.",
        zh="DataLoader 在模型计算的同时由其他进程准备批次，并且这些进程会跨 epoch 保留。训练步不再等待样本的读取、解码和变换。"
        "随机变换使用另外的随机数流，因此结果在分布上一致而非逐位相同；每个工作进程都需要自己的内存。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal per worker count of a ladder up to the usable CPUs, other than the present count."""
        training = _usable(training_loaders(view))
        if not training:
            reason = say("treat.iterable_loader") if training_loaders(view) else say("treat.no_loader")
            return CannotApply(treatment=self.name, reason=reason)
        proposals = _ladder(view, training, role="training", ceiling=amdahl(view.ledger, "data_wait"))
        evaluation = _usable(evaluation_loaders(view))
        sites = {_key(loader.stack[-1]) for loader in training}
        evaluation = tuple(loader for loader in evaluation if _key(loader.stack[-1]) not in sites)
        if evaluation and view.ledger.share("evaluation") >= _EVALUATION_SHARE:
            proposals += _ladder(view, evaluation, role="evaluation", ceiling=amdahl(view.ledger, "evaluation"))
        return proposals

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:
        """Set num_workers where it is decided, and persistent_workers beside it."""
        find = training_loaders if proposal.setting["role"] == "training" else evaluation_loaders
        done: set[tuple[str, int, int | None]] = set()
        for loader in _usable(find(view)):
            if _key(loader.stack[-1]) not in done:
                done.add(_key(loader.stack[-1]))
                _edit_loader(draft, view, loader, int(proposal.setting["num_workers"]))
        _guard_main(draft, view)


def _usable(loaders: tuple[LoaderSighting, ...]) -> tuple[LoaderSighting, ...]:
    return tuple(loader for loader in loaders if not loader.iterable and loader.stack)


def _ladder(view: View, loaders: tuple[LoaderSighting, ...], *, role: str, ceiling: float) -> tuple[Proposal, ...]:
    """Powers of two up to the usable CPUs, all but one CPU, and all. Fewer workers than now: the gain is not known."""
    cpus = max(view.cpus, 1)
    counts = {1 << power for power in range(cpus.bit_length()) if 1 << power <= cpus} | {cpus, max(cpus - 1, 1)}
    now = {loader.num_workers for loader in loaders}
    prefix = "loader-workers" if role == "training" else "loader-workers-evaluation"
    return tuple(
        Proposal(
            name=f"{prefix}={count}",
            treatment=LoaderWorkers.name,
            setting={"num_workers": count, "role": role},
            numerics=Numerics.SAME_DISTRIBUTION,
            ceiling=ceiling if count > max(now) else inf,
            group=prefix,
        )
        for count in sorted(counts)
        if now != {count}
    )


def _edit_loader(draft: "Draft", view: View, loader: LoaderSighting, count: int) -> None:
    from pitstop.treat.edit.arguments import keyword_argument  # noqa: PLC0415  libcst is imported when an edit is made
    from pitstop.treat.edit.setting import calls_class, parameter_value, set_parameter  # noqa: PLC0415
    from pitstop.treat.edit.sites import call_at, callee_name  # noqa: PLC0415

    site = loader.stack[-1]
    file = draft.file(site.path)
    class_name = loader.loader_class.rsplit(".", 1)[-1]
    call = call_at(file.parsed, site, likely=lambda call: callee_name(call) in (class_name, "DataLoader"))
    if not calls_class(file, call, class_name):
        raise CannotEdit("not_the_class", line=site.line, wanted=class_name, found=file.parsed.code(call.func))
    value = parameter_value(file, call, "num_workers", position=_POSITION)
    persistent = "True"
    if value is None or not _set_at_origin(draft, view, file, value, now=loader.num_workers, count=count):
        set_parameter(file, call, "num_workers", str(count), position=_POSITION)
    elif not _is_integer(value):
        persistent = f"{file.parsed.code(value)} > 0"
    given = keyword_argument(call, "persistent_workers")
    if not loader.persistent_workers and (given is None or file.parsed.code(given.value) == "False"):
        set_parameter(file, call, "persistent_workers", persistent)


def _set_at_origin(
    draft: "Draft", view: View, file: "FileDraft", value: "cst.BaseExpression", *, now: int, count: int
) -> bool:
    """Set the count where a person would: in the literal or constant, or as an option of the launch line."""
    from pitstop.treat.edit.values import origin_of  # noqa: PLC0415  libcst is imported when an edit is made

    origin = origin_of(file.parsed, value, options=view.evidence.options, now=now)
    if origin.option is not None and takes_options(view.program, view.evidence):
        flag = flag_on_line(origin.option, view.evidence)
        longest = max(origin.option.flags, key=len)
        draft.set_option(flag or longest, str(count), present=flag is not None)
        return True
    if origin.literal is not None:
        file.replace(origin.literal, str(count))
        return True
    return False


def _is_integer(value: "cst.BaseExpression") -> bool:
    import libcst as cst  # noqa: PLC0415  imported when an edit is made

    return isinstance(value, cst.Integer)


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


def _key(site: Site) -> tuple[str, int, int | None]:
    return site.path, site.line, site.column
