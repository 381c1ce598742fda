"""Which Python processes are programs of the user, and which are machinery that must stay as it is."""

import sys

_VALUE_OPTIONS = ("-W", "-X", "--check-hash-based-pycs")
_MACHINERY_MODULES = ("pip", "ensurepip", "venv", "virtualenv", "torch._inductor.compile_worker")
_MACHINERY_CODE = ("from multiprocessing.resource_tracker import", "from multiprocessing.semaphore_tracker import")
_MACHINERY_FILES = ("/torch/_inductor/compile_worker/__main__.py", "/pip/__main__.py", "/bin/pip", "/bin/pip3")


def command_line():
    """Return this interpreter's own argument vector as the kernel knows it."""
    arguments = getattr(sys, "orig_argv", None)  # from Python 3.10
    if arguments is None:
        with open("/proc/self/cmdline", "rb") as file:
            arguments = [part.decode(errors="surrogateescape") for part in file.read().split(b"\0")[:-1]]
    return list(arguments)


def what_runs(arguments):
    """Return ("code" | "module" | "file" | "stdin", text) for an interpreter's argument vector."""
    position = 1
    while position < len(arguments):
        argument = arguments[position]
        if argument in _VALUE_OPTIONS:
            position += 2
            continue
        if not argument.startswith("-") or argument == "-":
            return ("stdin", "") if argument == "-" else ("file", argument)
        if not argument.startswith("--"):
            for letter in ("c", "m"):  # also the last of a cluster, as in -Bc
                if letter in argument:
                    rest = argument[argument.index(letter) + 1 :]
                    text = rest or (arguments[position + 1] if position + 1 < len(arguments) else "")
                    return ("code" if letter == "c" else "module", text)
        position += 1
    return ("stdin", "")


def is_program(arguments):
    """Tell whether the probe belongs into this process; trackers, compile workers and installers are machinery."""
    how, text = what_runs(arguments)
    if how == "code":
        return not text.startswith(_MACHINERY_CODE)
    if how == "module":
        return not any(text == name or text.startswith(name + ".") for name in _MACHINERY_MODULES)
    return not (how == "file" and text.endswith(_MACHINERY_FILES))


def is_forkserver(arguments):
    """Tell whether this process only forks others: it is no program, yet what it forks are."""
    how, text = what_runs(arguments)
    return how == "code" and text.startswith("from multiprocessing.forkserver import")
