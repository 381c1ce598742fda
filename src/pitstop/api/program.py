"""Is the command line that the user gave one that can be run at all? Said before anything is started."""

import os
import shutil
from pathlib import Path

from pitstop.api.notebooks import refuse_notebook
from pitstop.errors import WrongUse
from pitstop.records import Program

__all__ = ["main_script", "program_name", "project_root", "read_program"]

# Options of the Python interpreter that take a value in the next argument.
_TAKES_VALUE = frozenset({"-W", "-X", "--check-hash-based-pycs"})


def read_program(command: list[str], *, cwd: Path, asked: str = "profile") -> Program:
    """Return the command as a Program; `asked` names the pitstop command that wants it.

    Raises WrongUse: nothing given, a notebook, no such command, no such script, a script given without its interpreter.
    """
    if not command:
        raise WrongUse("cli.no_command", name=asked)
    first = command[0]
    script = main_script(command, cwd=cwd)
    refuse_notebook(command, script=script, asked=asked)
    if shutil.which(first, path=os.environ.get("PATH")) is None:
        path = cwd / first
        if path.is_dir():
            raise WrongUse("cli.is_a_folder", path=first)
        if path.is_file():
            key = "cli.needs_interpreter" if path.suffix == ".py" else "cli.not_executable"
            raise WrongUse(key, path=first, name=asked)
        raise WrongUse("cli.no_such_script" if first.endswith(".py") else "cli.no_such_command", path=first)
    if script is not None:
        if script.is_dir():
            if not (script / "__main__.py").is_file():
                raise WrongUse("cli.is_a_folder", path=str(script))
        elif not script.exists():
            raise WrongUse("cli.no_such_script", path=str(script))
        elif script.is_file() and b"\0" in script.read_bytes()[:4096] and script.suffix not in (".pyc", ".pyz", ".zip"):
            raise WrongUse("cli.not_python", path=str(script))
    return Program(argv=tuple(command), cwd=str(cwd))


def main_script(command: list[str] | tuple[str, ...], *, cwd: Path) -> Path | None:
    """Return the script of a `python [options] script ...` command, or None (`-m`, `-c`, a wrapper, another program)."""
    if not Path(command[0]).name.startswith(("python", "pypy")):
        return None
    arguments = iter(command[1:])
    for argument in arguments:
        if argument in ("-m", "-c", "-"):
            return None
        if argument in _TAKES_VALUE:
            next(arguments, None)
        elif argument.startswith("-"):
            if len(argument) > 1 and argument[1] in "mc":
                return None
        else:
            return (cwd / argument).absolute()
    return None


def program_name(program: Program) -> str:
    """Return a short name for run folders: the script's, the module's, else the command's."""
    cwd = Path(program.cwd)
    script = main_script(program.argv, cwd=cwd)
    if script is not None:
        return script.stem
    if "-m" in program.argv[:-1]:
        return program.argv[program.argv.index("-m") + 1]
    return Path(program.argv[0]).stem


def project_root(program: Program) -> Path:
    """Return the folder whose files are the user's to patch: where the command runs, or where its script lies."""
    cwd = Path(program.cwd)
    script = main_script(program.argv, cwd=cwd)
    if script is None or script.is_relative_to(cwd):
        return cwd
    return script.parent
