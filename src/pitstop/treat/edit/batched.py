"""A DataLoader's call rewritten so that its sampler yields batches and its dataset is asked for one whole batch."""

from typing import TYPE_CHECKING

import libcst as cst

from pitstop.records import LoaderSighting
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.edit.arguments import ArgumentEdit, keyword_argument
from pitstop.treat.edit.file import FileDraft
from pitstop.treat.edit.parsed import ParsedSource, parse_source
from pitstop.treat.edit.setting import calls_class, set_parameter
from pitstop.treat.edit.sites import call_at, callee_name

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["index_by_batch"]

# Where the parameters of a DataLoader may stand without keyword.
_POSITIONS = {
    "dataset": 0,
    "batch_size": 1,
    "shuffle": 2,
    "sampler": 3,
    "batch_sampler": 4,
    "collate_fn": 6,
    "drop_last": 8,
}
# What a loader without automatic batching answers differently.
_CHANGED = frozenset(["batch_size", "sampler", "batch_sampler", "drop_last", "collate_fn"])
_ITERATING = frozenset(["iter", "enumerate", "tqdm", "len", "zip", "cycle", "islice", "trange", "track"])


def index_by_batch(draft: "Draft", view: View, loader: LoaderSighting) -> None:
    """Give the call that made `loader` a `BatchSampler` and `batch_size=None`.

    The samplers are those that the DataLoader makes itself, so that order and random streams stay. Raises CannotEdit where batches are
    collated by the program, the call cannot be read, or the program reads what changes.
    """
    site = loader.stack[-1]
    file = draft.file(site.path)
    call = call_at(file.parsed, site, likely=lambda call: callee_name(call) == "DataLoader")
    if not calls_class(file, call, "DataLoader"):
        raise CannotEdit("not_the_class", line=site.line, wanted="DataLoader", found=file.parsed.code(call.func))
    if any(arg.star for arg in call.args):
        raise CannotEdit("unpacked_call", line=site.line)
    given = {name: _given(file, call, name) for name in (*_POSITIONS, "generator")}
    if given["collate_fn"] not in (None, "None"):
        raise CannotEdit("own_collate", what=given["collate_fn"], line=site.line)
    _check_readers(view)
    if given["batch_sampler"] not in (None, "None"):
        set_parameter(file, call, "batch_sampler", "None", position=_POSITIONS["batch_sampler"])
        sampler = given["batch_sampler"]
    elif given["batch_size"] == "None":
        raise CannotEdit("batched_already")
    else:
        sampler = _batches(file, call, given)
    _put(file, call, given, str(sampler))


def _given(file: FileDraft, call: cst.Call, name: str) -> str | None:
    arg = keyword_argument(call, name, position=_POSITIONS.get(name))
    return None if arg is None else file.parsed.code(arg.value)


def _batches(file: FileDraft, call: cst.Call, given: dict[str, str | None]) -> str:
    own = given["sampler"] if given["sampler"] not in (None, "None") else None
    source = _length_of(file, call) if own is None else ""  # refuses before anything is written
    where = _package(file, call)
    sampler = own or _samples(source, given, where)
    size, drop = given["batch_size"] or "1", given["drop_last"] or "False"
    return f"{where}.BatchSampler({sampler}, batch_size={size}, drop_last={drop})"


def _samples(source: str, given: dict[str, str | None], where: str) -> str:
    """Return the sampler that the DataLoader would make of `shuffle` and `generator`."""
    generator = f", generator={given['generator']}" if given["generator"] not in (None, "None") else ""
    shuffled, ordered = f"{where}.RandomSampler({source}{generator})", f"{where}.SequentialSampler({source})"
    shuffle = given["shuffle"] or "False"
    if shuffle in ("False", "None"):
        return ordered
    return shuffled if shuffle == "True" else f"{shuffled} if {shuffle} else {ordered}"


def _length_of(file: FileDraft, call: cst.Call) -> str:
    """Return an expression of the dataset's length that costs nothing to say twice: its name, or that of a TensorDataset's first tensor."""
    arg = keyword_argument(call, "dataset", position=0)
    value = arg.value if arg is not None else None
    if isinstance(value, cst.Call) and callee_name(value) == "TensorDataset" and value.args and not value.args[0].star:
        value = value.args[0].value
    if value is None or not _is_name(value):
        raise CannotEdit("dataset_unnamed", line=file.parsed.position(call).start.line)
    return file.parsed.code(value)


def _is_name(value: cst.BaseExpression) -> bool:
    while isinstance(value, cst.Attribute):
        value = value.value
    return isinstance(value, cst.Name)


def _package(file: FileDraft, call: cst.Call) -> str:
    """Return what `torch.utils.data` is called where the call stands."""
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "DataLoader":
        return file.parsed.code(call.func.value)
    return f"{file.import_name('torch')}.utils.data"


def _put(file: FileDraft, call: cst.Call, given: dict[str, str | None], sampler: str) -> None:
    """Write the arguments: what the sampler says now is taken out, or made neutral where it stands by position."""
    shuffle = keyword_argument(call, "shuffle", position=_POSITIONS["shuffle"])
    takes_its_place = shuffle is not None and shuffle.keyword is not None and given["sampler"] is None
    if given["drop_last"] is not None:
        _neutral(file, call, "drop_last")
    if shuffle is not None and not takes_its_place:
        _neutral(file, call, "shuffle")
    instead = "shuffle" if takes_its_place else None
    set_parameter(file, call, "batch_size", "None", position=_POSITIONS["batch_size"])
    set_parameter(file, call, "sampler", sampler, position=_POSITIONS["sampler"], instead_of=instead)


def _neutral(file: FileDraft, call: cst.Call, name: str) -> None:
    arg = keyword_argument(call, name, position=_POSITIONS[name])
    by_keyword = arg is not None and arg.keyword is not None
    code = None if by_keyword else "False"
    file.edit_argument(call, ArgumentEdit(keyword=name, code=code, position=_POSITIONS[name]))


def _check_readers(view: View) -> None:
    """Refuse where a file reads an attribute that changes from something that it iterates."""
    for path, text in view.sources.items():
        if not any(f".{name}" in text for name in _CHANGED):
            continue
        try:
            parsed = parse_source(path, text)
        except CannotEdit:
            continue  # not Python that this version reads; nobody edits it
        _check_file(parsed)


def _check_file(parsed: ParsedSource) -> None:
    readers = [
        node for node in parsed.nodes(cst.Attribute) if node.attr.value in _CHANGED and not _is_stored(parsed, node)
    ]
    if not readers:
        return
    iterated = _iterated(parsed)
    for node in readers:
        if parsed.code(node.value) in iterated:
            raise CannotEdit("loader_is_read", what=parsed.code(node), line=parsed.position(node).start.line)


def _is_stored(parsed: ParsedSource, node: cst.Attribute) -> bool:
    parent = parsed.parent(node)
    return isinstance(parent, cst.AssignTarget)


def _iterated(parsed: ParsedSource) -> set[str]:
    """Return the expressions that the file goes through: in a `for`, or handed to something like `enumerate`."""
    found = {parsed.code(loop.iter) for loop in parsed.nodes(cst.For)}
    found |= {parsed.code(part.iter) for part in parsed.nodes(cst.CompFor)}
    for call in parsed.nodes(cst.Call):
        if callee_name(call) in _ITERATING:
            found |= {parsed.code(arg.value) for arg in call.args}
        for arg in call.args:  # bound to a loader by name
            if arg.keyword is not None and "loader" in arg.keyword.value and _is_name(arg.value):
                found.add(parsed.code(arg.value))
    for node in parsed.nodes(cst.Attribute):
        if node.attr.value == "dataset":  # only loaders have one
            found.add(parsed.code(node.value))
    for assignment in parsed.nodes(cst.Assign):
        if isinstance(assignment.value, cst.Call) and callee_name(assignment.value) == "DataLoader":
            found |= {parsed.code(target.target) for target in assignment.targets}
    return found
