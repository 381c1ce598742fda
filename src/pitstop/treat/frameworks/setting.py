"""What a treatment wants, set where the program configures its framework: on the launch line, or at the call that makes the settings."""

from typing import TYPE_CHECKING

from pitstop.records import ArgparseOption, Evidence, SettingsSighting
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.frameworks.contract import DEFAULT, VALUE, Framework, Wanted
from pitstop.treat.frameworks.hugging_face import HUGGING_FACE
from pitstop.treat.frameworks.lightning import LIGHTNING
from pitstop.treat.launch import flag_on_line, takes_options

if TYPE_CHECKING:
    import libcst as cst

    from pitstop.treat.edit import Draft
    from pitstop.treat.edit.file import FileDraft

__all__ = ["set_in_framework", "training_library"]

_FRAMEWORKS = (HUGGING_FACE, LIGHTNING)


def training_library(evidence: Evidence) -> str | None:
    """Return the framework that runs the training step, None where the program's own source does."""
    libraries = {backward.library for backward in evidence.backwards}
    return next((name for name in sorted(filter(None, libraries)) if _named(name) is not None), None)


def set_in_framework(
    draft: "Draft", view: View, library: str | None, wanted: Wanted, *, value: int | str = DEFAULT
) -> bool:
    """Write what is `wanted` into the settings of the framework `library`; False where that is no framework with such a setting.

    Raises CannotEdit where it has one that cannot be written.
    """
    framework = _named(library)
    if framework is None:
        return False
    if wanted == "compile" and framework.compiled_call is not None:
        _compile_argument(draft, view, framework.compiled_call, mode=str(value))
        return True
    if wanted not in framework.arguments:
        return False
    if value in framework.impossible:
        raise CannotEdit("framework_no_value", framework=framework.class_name, value=value)
    arguments = {name: value if given == VALUE else given for name, given in framework.arguments[wanted].items()}
    arguments = {name: given for name, given in arguments.items() if given != DEFAULT}
    seen = [settings for settings in view.evidence.settings if settings.framework in framework.packages]
    for name in framework.excludes.get(wanted, ()):
        if any(settings.values.get(name) for settings in seen):
            raise CannotEdit("framework_excludes", name=name, framework=framework.class_name)
    if seen and all(settings.values.get(name) == given for settings in seen for name, given in arguments.items()):
        raise CannotEdit("framework_already", framework=framework.class_name, settings=_listed(arguments))
    options = {option.dest: option for option in view.evidence.options if option.flags and option.takes_value}
    if arguments.keys() <= options.keys():
        _set_on_line(draft, view, framework, {options[name]: given for name, given in arguments.items()})
        return True
    _set_at_calls(draft, view, framework, seen, arguments)
    return True


def _named(library: str | None) -> Framework | None:
    return next((framework for framework in _FRAMEWORKS if library in framework.packages), None)


def _listed(arguments: dict[str, bool | str | int]) -> str:
    return ", ".join(f"{name}={given!r}" for name, given in arguments.items())


def _set_on_line(
    draft: "Draft", view: View, framework: Framework, chosen: dict[ArgparseOption, bool | str | int]
) -> None:
    if not takes_options(view.program, view.evidence):
        listed = _listed({option.dest: given for option, given in chosen.items()})
        raise CannotEdit("framework_elsewhere", framework=framework.class_name, settings=listed)
    for option, given in chosen.items():
        flag = flag_on_line(option, view.evidence)
        draft.set_option(flag or max(option.flags, key=len), str(given), present=flag is not None)


def _set_at_calls(
    draft: "Draft",
    view: View,
    framework: Framework,
    seen: list[SettingsSighting],
    arguments: dict[str, bool | str | int],
) -> None:
    from pitstop.treat.edit.decided import set_where_decided  # noqa: PLC0415  libcst is imported when an edit is made
    from pitstop.treat.edit.setting import parameter_value, set_parameter  # noqa: PLC0415

    calls = [(settings, *found) for settings in seen if (found := _call(draft, settings)) is not None]
    if not calls:
        raise CannotEdit("framework_elsewhere", framework=framework.class_name, settings=_listed(arguments))
    for settings, file, call in calls:
        for name, given in arguments.items():
            code = file.style.string(given) if isinstance(given, str) else repr(given)
            written, now = parameter_value(file, call, name), settings.values.get(name)
            if written is None or not set_where_decided(draft, view, written, stack=settings.stack, now=now, code=code):
                set_parameter(file, call, name, code)


def _call(draft: "Draft", settings: SettingsSighting) -> "tuple[FileDraft, cst.Call] | None":
    """Return the call that makes the settings object, None where a parser, a file or the framework itself makes it."""
    from pitstop.treat.edit.setting import calls_class  # noqa: PLC0415  libcst is imported when an edit is made
    from pitstop.treat.edit.sites import call_at, callee_name  # noqa: PLC0415

    if not settings.stack:
        return None
    site = settings.stack[-1]
    try:
        file = draft.file(site.path)
        call = call_at(file.parsed, site, likely=lambda call: callee_name(call) == settings.class_name)
    except CannotEdit:
        return None
    return (file, call) if calls_class(file, call, settings.class_name) else None


def _compile_argument(draft: "Draft", view: View, method: str, *, mode: str) -> None:
    """Give the method that trains `torch.compile(model)` in place of `model`, at every call that led to a backward."""
    from pitstop.treat.edit.arguments import keyword_argument  # noqa: PLC0415  libcst is imported when an edit is made
    from pitstop.treat.edit.sites import call_at, callee_name  # noqa: PLC0415

    found = False
    for site in {site for backward in view.evidence.backwards for site in backward.stack}:
        try:
            file = draft.file(site.path)
            call = call_at(file.parsed, site, likely=lambda call: callee_name(call) == method)
        except CannotEdit:
            continue
        model = keyword_argument(call, "model", position=0) if callee_name(call) == method else None
        if model is not None:
            named = "dynamic=True" if mode == "dynamic" else f"mode={file.style.string(mode)}"
            given = "" if mode == DEFAULT else f", {named}"
            file.replace(model.value, f"{file.import_name('torch')}.compile({file.parsed.code(model.value)}{given})")
            found = True
    if not found:
        raise CannotEdit("framework_no_call", method=method)
