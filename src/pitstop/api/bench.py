"""The bench: runs disposable trials of one program in the sandbox and reads what they say."""

import hashlib
import math
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from pitstop.measure.launch import run_program
from pitstop.measure.machine import available_memory_bytes
from pitstop.measure.probe_folder import ProbeConfig
from pitstop.measure.sandbox import SandboxPlan, collect_seed, remove_tree
from pitstop.records import Change, Program, Run, Trial
from pitstop.tune.reading import read_trial
from pitstop.tune.window import Window

__all__ = ["Bench", "error_tail"]

_TAIL_BYTES = 4000
# A trial takes what the baseline took and what compiling may add; past this it hangs.
_TIMEOUT_FACTOR = 4.0
_TIMEOUT_FLOOR_S = 180.0
# Where the budget has less left: compiling may take a minute, and what the baseline took, with some more, is no hanging.
_LEAST_TIMEOUT_S = 90.0
_LEAST_TIMEOUT_FACTOR = 1.5
# The machine keeps this much for everybody else.
_MEMORY_SHARE = 0.9


class Bench:
    """Runs trials of `program` under `plan`; each in a folder of its own below `folder`, with private compiler caches per change."""

    def __init__(
        self,
        program: Program,
        *,
        root: Path,
        folder: Path,
        plan: SandboxPlan,
        tolerate_load: bool = False,
        on_tick: Callable[[], None] | None = None,
    ) -> None:
        self.program = program
        self.root = root
        self.plan = plan
        self.baseline_wall_s: float | None = None
        self.ends_s: float | None = None  # when the time budget does, by the monotonic clock
        self.seed: Path | None = None
        self.tolerate_load = tolerate_load
        self.address_space_bytes: int | None = None  # of each process of a trial
        self.folder = folder
        self._on_tick = on_tick
        self._count = len(list((folder / "trials").glob("*"))) if (folder / "trials").is_dir() else 0

    def run(
        self,
        label: str,
        *,
        change: Change,
        probe: ProbeConfig | None,
        timeout_s: float | None = None,
        keep_layers: Path | None = None,
    ) -> tuple[Run, Path]:
        """Run the program once with `change` written into the sandbox; returns the run and its folder.

        `keep_layers` receives what the program wrote, see `take_seed`.
        """
        self._count += 1
        folder = self.folder / "trials" / f"{self._count:03d}-{label}"
        folder.mkdir(parents=True)
        run = run_program(
            self.program,
            folder=folder,
            project_root=self.root,
            probe=probe,
            sandbox=self.plan,
            change=change,
            timeout_s=timeout_s or self._timeout_s(),
            memory_limit_bytes=round(available_memory_bytes() * _MEMORY_SHARE),
            output="capture",
            compile_cache=self.folder / "compile-cache" / change_key(change),
            seed=self.seed,
            keep_layers=keep_layers,
            on_tick=self._on_tick,
            address_space_bytes=self.address_space_bytes,
        )
        return run, folder

    def take_seed(self, layers: Path, *, before_ns: int) -> None:
        """Let later trials find what the first one had written before its first step (downloads, prepared data)."""
        destination = self.folder / "seed"
        written = collect_seed(layers, before_ns=before_ns, destination=destination, leave_out=(self.folder,))
        self.seed = destination if written else None
        remove_tree(layers)

    def trial(
        self, proposals: tuple[str, ...], *, change: Change, window: Window, stop_after: int, must_compile: bool
    ) -> Trial:
        """Run one timing trial over `window`; `stop_after` is the window's end in the probe's own count of steps."""
        label = "+".join(proposals) or "baseline"
        config = ProbeConfig(mode="clock", stop_after_steps=stop_after, project_root=str(self.root))
        run, folder = self.run(label[:80].replace("/", "_"), change=change, probe=config)
        return read_trial(
            run,
            window=window,
            proposals=proposals,
            tolerate_load=self.tolerate_load,
            must_compile=must_compile,
            over_memory=run.over_memory,
            error_tail=error_tail(folder),
        )

    def _timeout_s(self) -> float:
        usual_s = _TIMEOUT_FACTOR * (self.baseline_wall_s or 0.0)
        left_s = math.inf if self.ends_s is None else self.ends_s - time.monotonic()
        least_s = max(_LEAST_TIMEOUT_S, _LEAST_TIMEOUT_FACTOR * (self.baseline_wall_s or 0.0))
        return min(max(usual_s, _TIMEOUT_FLOOR_S), max(least_s, left_s))


def change_key(change: Change) -> str:
    """Return a name for the compiler cache of one change: repeats of the same sources start warm, others cold."""
    if change.laid or change.removed:  # paths may be no text
        version = repr((sorted(change.laid.items()), sorted(change.removed), sorted(change.files.items())))
        return hashlib.sha256(version.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return hashlib.sha256(msgspec.json.encode(change.files, order="sorted")).hexdigest()[:16]


def error_tail(folder: Path) -> str:
    """Return the end of the program's captured error output."""
    path = folder / "stderr"
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return file.read().decode("utf-8", errors="replace")
