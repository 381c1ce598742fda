"""The launch line: the program's own options and environment changed as a change asks."""

from collections.abc import Sequence

from pitstop.records import ArgparseOption, Change, Evidence, Program

__all__ = ["flag_on_line", "launch_line", "takes_options"]


def launch_line(program: Program, change: Change) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the argument vector and the environment additions to start `program` with `change`."""
    argv = list(program.argv)
    for flag, value in change.replaced_arguments.items():
        _replace(argv, flag, value)
    return (*argv, *change.arguments), {**program.env, **change.env}


def takes_options(program: Program, evidence: Evidence) -> bool:
    """Say whether options at the end of the launch line reach the process that trains: its own arguments end the line."""
    environment = evidence.environment
    if environment is None:
        return False
    own = environment.argv[1:]
    return program.argv[len(program.argv) - len(own) :] == own and len(own) < len(program.argv)


def flag_on_line(option: ArgparseOption, evidence: Evidence) -> str | None:
    """Return how `option` is written on the training process's line ("--workers", "-j", or an abbreviation); None if it is not."""
    own: Sequence[str] = evidence.environment.argv[1:] if evidence.environment is not None else ()
    for word in reversed(own):
        name = word.split("=", 1)[0]
        if option.style == "override":
            if "=" in word and name.lstrip("+") in option.flags:
                return name
            continue
        if name in option.flags:
            return name
        for flag in option.flags:
            if len(flag) == 2 and flag[1] != "-" and word.startswith(flag):
                return flag
            if len(name) > 3 and name.startswith("--") and flag.startswith(name):
                return name
    return None


def _replace(argv: list[str], flag: str, value: str) -> None:
    """Give the last `flag` on the line `value`; argparse takes the last."""
    for index in range(len(argv) - 1, 0, -1):
        word = argv[index]
        if word == flag and index + 1 < len(argv):
            argv[index + 1] = value
            return
        if word.startswith(f"{flag}="):
            argv[index] = f"{flag}={value}"
            return
        if len(flag) == 2 and word.startswith(flag) and word != flag:
            argv[index] = f"{flag}{value}"
            return
    raise AssertionError(f"{flag} is not on the launch line {argv}")
