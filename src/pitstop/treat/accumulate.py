"""Another batch size for the training loader, with gradient accumulation that keeps the batch of an optimizer step.

No treatment of `pitstop tune`: `pitstop fit` chooses the size (docs/fit.md).
"""

from typing import TYPE_CHECKING

import msgspec

from pitstop.messages import say
from pitstop.records import Change, LoaderSighting, Numerics
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.edit import Draft
from pitstop.treat.roles import training_loaders
from pitstop.treat.training import training_forwards

if TYPE_CHECKING:
    import libcst as cst

    from pitstop.treat.edit.file import FileDraft

__all__ = ["Accumulated", "accumulated_batch", "fitted_loader", "smaller_batch"]

_BATCH_POSITION = 1  # of batch_size in DataLoader(dataset, batch_size, ...)
_DROP_POSITION = 8  # of drop_last


class Accumulated(msgspec.Struct, frozen=True, kw_only=True):
    """The edit, what it may change, and why it is no more than that."""

    change: Change
    numerics: Numerics
    reason: str = ""


def fitted_loader(view: View) -> LoaderSighting:
    """Return the training loader whose batch is to be fitted; raises CannotEdit where there is none, or where several differ."""
    loaders = [loader for loader in training_loaders(view) if loader.stack]
    if not loaders:
        raise CannotEdit("no_loader")
    if any(loader.batch_size is None for loader in loaders):
        raise CannotEdit("fit_own_batches")
    if len({(loader.stack[-1].path, loader.stack[-1].line, loader.batch_size) for loader in loaders}) != 1:
        raise CannotEdit("fit_several_loaders", count=len(loaders))
    return loaders[0]


def smaller_batch(view: View, batch: int) -> Change:
    """Return the edit that makes batches of `batch` samples and nothing else, so that optimizer steps get them too."""
    draft = Draft(view.sources)
    _set_batch(draft, view, fitted_loader(view), batch)
    return draft.finish()


def accumulated_batch(view: View, factor: int, *, whole: int | None = None) -> Accumulated:
    """Return the edit that divides each batch by `factor` and steps once in so many; `whole` sets another batch than the program's.

    Raises CannotEdit where the loop, or the loader, is none that can be rewritten safely.
    """
    from pitstop.treat.edit.accumulation import accumulate, find_loop, loss_of  # noqa: PLC0415  libcst is imported when an edit is made

    loader = fitted_loader(view)
    batch = whole or loader.batch_size or 1
    if batch % factor:
        raise CannotEdit("fit_not_divisible", batch=batch, factor=factor)
    if loader.iterable:
        raise CannotEdit("iterable_loader")
    sites = {
        (site.path, site.line): site for site in (seen.stack[-1] for seen in view.evidence.backwards if seen.stack)
    }
    if len(sites) != 1:
        raise CannotEdit("fit_several_backwards" if sites else "fit_no_backward", line=0)
    site = next(iter(sites.values()))
    draft = Draft(view.sources)
    drops_last = _set_batch(draft, view, loader, batch // factor)
    file = draft.file(site.path)
    loop = find_loop(file, site)
    kind = loss_of(file, loop)
    accumulate(file, loop, factor=factor, divided=kind != "sum", drops_last=drops_last)
    reason = _why_not_the_same(view, kind, loader)
    numerics = Numerics.TRAINING if reason else Numerics.SAME_MATH
    return Accumulated(change=draft.finish(), numerics=numerics, reason=reason)


def _why_not_the_same(view: View, loss: str, loader: LoaderSighting) -> str:
    """Return why smaller batches train differently; "" where gradients of the parts add up to that of the whole."""
    forwards = training_forwards(view.evidence)
    reasons: list[str] = []
    if any(forward.num_batchnorm for forward in forwards):
        reasons.append(say("fit.batchnorm", count=sum(forward.num_batchnorm for forward in forwards)))
    if any(forward.num_dropout for forward in forwards):
        reasons.append(say("fit.dropout", count=sum(forward.num_dropout for forward in forwards)))
    if loss == "unknown":
        reasons.append(say("fit.loss_unknown"))
    if loader.num_workers:
        reasons.append(say("fit.workers", count=loader.num_workers))
    return "; ".join(reasons)


def _set_batch(draft: Draft, view: View, loader: LoaderSighting, batch: int) -> bool:
    """Set batch_size where it is decided; return whether the loader drops its last, smaller batch."""
    from pitstop.treat.edit.decided import set_where_decided  # noqa: PLC0415  libcst is imported when an edit is made
    from pitstop.treat.edit.setting import calls_class, parameter_value, set_parameter  # noqa: PLC0415
    from pitstop.treat.edit.sites import call_at, callee_name  # noqa: PLC0415

    site, name = loader.stack[-1], loader.loader_class.rsplit(".", 1)[-1]
    file = draft.file(site.path)
    call = call_at(file.parsed, site, likely=lambda call: callee_name(call) in (name, "DataLoader", "__init__"))
    if not calls_class(file, call, name):
        raise CannotEdit("not_the_class", line=site.line, wanted=name, found=file.parsed.code(call.func))
    value = parameter_value(file, call, "batch_size", position=_BATCH_POSITION)
    decided = (
        value is not None
        and not _used_elsewhere(file, value)
        and set_where_decided(draft, view, value, stack=loader.stack, now=loader.batch_size, code=str(batch))
    )
    if not decided:
        set_parameter(file, call, "batch_size", str(batch), position=_BATCH_POSITION)
    dropped = parameter_value(file, call, "drop_last", position=_DROP_POSITION)
    text = "False" if dropped is None else file.parsed.code(dropped)
    if text not in ("True", "False"):
        raise CannotEdit("fit_drop_last", line=site.line)
    return text == "True"


def _used_elsewhere(file: "FileDraft", value: "cst.BaseExpression") -> bool:
    """Say whether what decides the batch size is computed with: a learning rate scaled with the batch must not follow it."""
    import libcst as cst  # noqa: PLC0415  imported when an edit is made

    if isinstance(value, cst.Integer):
        return False
    parsed, code = file.parsed, file.parsed.code(value)
    for operation in parsed.nodes(cst.BinaryOperation):
        shown = any(isinstance(at, cst.FormattedString) for at in parsed.ancestors(operation))
        if not shown and any(
            parsed.code(side) == code
            for side in parsed.nodes(cst.BaseExpression, inside=operation)  # type: ignore[type-abstract]
        ):
            return True
    return False
