"""Switches of torch that hold for the whole process, set in the main script: a call, or an attribute of a backend."""

import libcst as cst

from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.edit.draft import Draft
from pitstop.treat.edit.file import FileDraft, Rank
from pitstop.treat.edit.imports import means_only
from pitstop.treat.edit.sites import callee_name

__all__ = ["set_attribute", "set_by_call"]


def set_by_call(draft: Draft, view: View, function: str, code: str) -> None:
    """Let `torch.<function>(code)` hold: the calls in the main script changed, or one added after its imports."""
    file = _script(draft, view, mentioned=f"{function}(")
    calls = [call for call in file.parsed.nodes(cst.Call) if callee_name(call) == function and len(call.args) == 1]
    for call in calls:
        file.replace(call.args[0].value, code)
    if not calls:
        file.insert_after_imports(f"{_torch(file)}.{function}({code})", rank=Rank.SETTING)


def set_attribute(draft: Draft, view: View, attribute: str, code: str) -> None:
    """Let `torch.<attribute> = code` hold, `attribute` like "backends.cudnn.benchmark": assignments changed, or one added."""
    ending = ".".join(attribute.split(".")[-2:])
    file = _script(draft, view, mentioned=ending)
    values = [
        node.value
        for node in file.parsed.nodes(cst.Assign)
        if any(file.parsed.code(target.target).endswith(ending) for target in node.targets)
    ]
    for value in values:
        file.replace(value, code)
    if not values:
        file.insert_after_imports(f"{_torch(file)}.{attribute} = {code}", rank=Rank.SETTING)


def _script(draft: Draft, view: View, *, mentioned: str) -> FileDraft:
    """Return the main script; refuses where another file of the project has the same switch, which might come later."""
    environment = view.evidence.environment
    if environment is None or environment.script is None:
        raise CannotEdit("no_script")
    for path, text in view.sources.items():
        if path != environment.script and mentioned in text:
            raise CannotEdit("switch_elsewhere", what=mentioned.rstrip("("), path=path)
    return draft.file(environment.script)


def _torch(file: FileDraft) -> str:
    torch = file.import_name("torch")
    if not means_only(file.parsed, torch, module="torch", before=1 << 30):
        raise CannotEdit("name_taken", name=torch)
    return torch
