"""The launch line of a trial: a `Change` applied to the argument vector and the environment."""

import os
from collections.abc import Mapping
from pathlib import Path

from pitstop.errors import CouldNotMeasure
from pitstop.records import Change

__all__ = ["OFFLINE", "changed_arguments", "users_environment"]

# What well-known libraries read to stay off the network and keep working (their documentation).
OFFLINE: Mapping[str, str] = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "WANDB_MODE": "offline",
    "SWANLAB_MODE": "offline",
    "NEPTUNE_MODE": "offline",
    "CLEARML_OFFLINE_MODE": "1",
    "COMET_START_ONLINE": "0",
    "MLFLOW_TRACKING_URI": "file:./mlruns",
}


def changed_arguments(argv: tuple[str, ...], change: Change) -> tuple[str, ...]:
    """Return `argv` with options replaced and arguments added at its end.

    `--workers 0`, `--workers=0`, `-j 0` and `-j0` are all found, the last one on the line counts (as argparse has it).
    Raises CouldNotMeasure if an option to be replaced is not on the line.
    """
    changed = list(argv)
    for option, value in change.replaced_arguments.items():
        _replace(changed, option, value)
    return (*changed, *change.arguments)


def _replace(argv: list[str], option: str, value: str) -> None:
    short = option.startswith("-") and not option.startswith("--") and len(option) == 2
    for index in range(len(argv) - 1, 0, -1):
        word = argv[index]
        if word == option and index + 1 < len(argv):
            argv[index + 1] = value
        elif word.startswith(option + "="):
            argv[index] = f"{option}={value}"
        elif short and word.startswith(option) and len(word) > 2:
            argv[index] = option + value
        else:
            continue
        return
    raise CouldNotMeasure("launch.no_such_option", option=option, command=" ".join(argv))


def users_environment() -> dict[str, str]:
    """Return the environment as the user's shell gave it to pitstop, without what starting Python added (PEP 538)."""
    environment = dict(os.environ)
    try:
        original = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return environment
    if not any(entry.startswith(b"LC_CTYPE=") for entry in original) and environment.get("LC_CTYPE") in {
        "C.UTF-8",
        "C.utf8",
        "UTF-8",
    }:
        del environment["LC_CTYPE"]
    return environment
