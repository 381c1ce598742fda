"""The version of the program's torch, as numbers."""

import re

from pitstop.treat.contract import View

__all__ = ["torch_at_least"]


def torch_at_least(view: View, wanted: tuple[int, int]) -> bool:
    """Say whether the program's torch is `wanted` or later ("2.13.0+cpu" is (2, 13)); True where it is not known: a trial tells."""
    environment = view.evidence.environment
    found = re.match(r"(\d+)\.(\d+)", environment.torch or "") if environment is not None else None
    return found is None or (int(found[1]), int(found[2])) >= wanted
