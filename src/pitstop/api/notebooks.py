"""Commands that run a notebook: its cells are no source file, so a patch could not be written for them."""

import shlex
from pathlib import Path

from pitstop.errors import WrongUse

__all__ = ["refuse_notebook"]

_SUFFIX = ".ipynb"
_RUNNERS = frozenset({"ipython", "ipython3", "jupyter", "nbconvert", "papermill", "runipy", "voila"})


def refuse_notebook(command: list[str], *, script: Path | None, asked: str) -> None:
    """Raise WrongUse where `command` runs a notebook or Jupyter; `script`: what a Python interpreter in it runs.

    A program that is given a notebook as data is no notebook.
    """
    runner = _runner(command)
    notebooks = [word for word in command if word.endswith(_SUFFIX)]
    if script is not None and script.suffix == _SUFFIX:
        notebook = str(script)
    elif command[0].endswith(_SUFFIX) or (runner in _RUNNERS and notebooks):
        notebook = notebooks[0]
    elif runner == "jupyter":
        notebook = f"notebook{_SUFFIX}"
    else:
        return
    python = str(Path(notebook).with_suffix(".py"))
    raise WrongUse(
        "cli.is_a_notebook", name=asked, notebook=shlex.quote(notebook), script=shlex.quote(Path(python).name)
    )


def _runner(command: list[str]) -> str:
    """Return the name of the command, of `jupyter-nbconvert` its family's, of `python -m module` the module's."""
    name = Path(command[0]).name
    if name.startswith(("python", "pypy")) and "-m" in command[1:-1]:
        name = command[command.index("-m") + 1].partition(".")[0]
    return "jupyter" if name.startswith("jupyter") else name
