"""What is known about one program that is measured: an outside one, or one of our own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["EXAMPLES", "OWN", "ROOT", "WORK", "Outside"]

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "bench-work"  # git ignores it
EXAMPLES = WORK / "examples"
OWN = ROOT / "bench" / "own"

MakeData = Callable[[Path], None]


@dataclass(frozen=True, kw_only=True)
class Outside:
    """`folder` is below pytorch/examples (`own`: below bench/own) and is the working directory; `arguments` are the program's own options.

    `variables` are set in its environment, "{work}" being `WORK`. `data` pairs a maker with the path, below pytorch/examples, that
    it fills. `environment` names an entry of environments.py.
    """

    name: str
    folder: str
    arguments: tuple[str, ...]
    environment: str
    data: tuple[tuple[MakeData, str], ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    note: str = ""
    budget: str = "6m"  # of the tune
    own: bool = False

    @property
    def cwd(self) -> Path:
        return (OWN if self.own else EXAMPLES) / self.folder
