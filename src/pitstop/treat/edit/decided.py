"""Setting a value where a person would: the literal, the constant, the caller's argument, or the launch line."""

from collections.abc import Sequence

import libcst as cst

from pitstop.records import Site
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.edit.arguments import keyword_argument
from pitstop.treat.edit.draft import Draft
from pitstop.treat.edit.file import FileDraft
from pitstop.treat.edit.setting import set_parameter
from pitstop.treat.edit.sites import call_at, callee_name
from pitstop.treat.edit.values import origin_of
from pitstop.treat.launch import flag_on_line, takes_options

__all__ = ["set_where_decided"]


def set_where_decided(
    draft: Draft, view: View, value: cst.BaseExpression, *, stack: Sequence[Site], now: object, code: str
) -> bool:
    """Follow `value` (read in the innermost frame of `stack`, `now` in the run) and set it to `code` there.

    Returns False where it cannot be followed (a configuration file, a computation): then it is set where it is used.
    """
    file = draft.file(stack[-1].path)
    origin = origin_of(file.parsed, value, options=view.evidence.options, now=now)
    if origin.option is not None and takes_options(view.program, view.evidence):
        flag = flag_on_line(origin.option, view.evidence)
        draft.set_option(
            flag or max(origin.option.flags, key=len),
            code,
            present=flag is not None,
            override=origin.option.style == "override",
        )
        return True
    if origin.literal is not None:
        file.replace(origin.literal, code)
        return True
    if origin.parameter is not None and len(stack) > 1:
        return _set_at_caller(draft, view, file, origin.parameter, stack=stack[:-1], now=now, code=code)
    return False


def _set_at_caller(
    draft: Draft,
    view: View,
    file: FileDraft,
    parameter: cst.Param,
    *,
    stack: Sequence[Site],
    now: object,
    code: str,
) -> bool:
    """Set the argument that the calling frame passes for `parameter`; False where that call is another one."""
    function = file.parsed.scope(parameter)
    if not isinstance(function, cst.FunctionDef):
        return False
    try:
        caller = draft.file(stack[-1].path)
        call = call_at(caller.parsed, stack[-1], likely=lambda call: callee_name(call) == function.name.value)
    except CannotEdit:
        return False  # called from a library, or from code that is not there
    owner = next((at for at in file.parsed.ancestors(function) if isinstance(at, cst.ClassDef)), None)
    is_method = owner is not None and file.parsed.scope_or_class(function) is owner
    names = {function.name.value} | ({owner.name.value} if owner is not None and is_method else set())
    if callee_name(call) not in names or parameter not in (*function.params.params, *function.params.kwonly_params):
        return False
    positional = [*function.params.posonly_params, *function.params.params]
    position = positional.index(parameter) - is_method if parameter in positional else None
    given = keyword_argument(call, parameter.name.value, position=position)
    if given is not None and set_where_decided(draft, view, given.value, stack=stack, now=now, code=code):
        return True
    set_parameter(caller, call, parameter.name.value, code, position=position)
    return True
