"""How each watcher is started on the same loop."""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pitstop.measure.probe_folder import ProbeConfig, prepare_probe

__all__ = ["LOOP", "WATCHERS", "Loop", "environment", "run_once"]

ROOT = Path(__file__).resolve().parents[2]
LOOP = Path(__file__).with_name("loop.py")
VENV = ROOT / ".venvs" / "overhead"
PACKAGES = ("traceml-ai==0.5.0", "pyyaml", "nvidia-ml-py")

# The first is what the others are compared with. traceml-ai needs three lines in the source and its own launcher; torch.profiler
# needs the source changed; the probe needs neither.
WATCHERS = ("none", "pitstop-clock", "pitstop-profile", "traceml", "torch-profiler", "torch-profiler-shapes")
SAMPLE_HZ = 50  # as `pitstop profile` and `pitstop tune` sample stacks


@dataclass(frozen=True)
class Loop:
    """One size of the loop, named by the step time that it has on the two cores it was chosen on."""

    name: str
    width: int
    batch_size: int
    steps: int
    warmup: int
    watchers: tuple[str, ...] = WATCHERS
    rounds: int | None = None  # instead of --pairs


def environment() -> Path:
    """Return a folder of programs that shares the checkout's torch and has traceml-ai beside it; made once."""
    stamp = VENV / ".complete"
    if not stamp.exists():
        subprocess.run([str(ROOT / ".venv" / "bin" / "python"), "-m", "venv", str(VENV)], check=True)
        (packages,) = VENV.glob("lib/python*/site-packages")
        (shared,) = (ROOT / ".venv").glob("lib/python*/site-packages")
        (packages / "torch_of_venv.pth").write_text(f"{shared}\n")
        subprocess.run([str(VENV / "bin" / "pip"), "install", "--quiet", "--no-deps", *PACKAGES], check=True)
        stamp.touch()
    return VENV / "bin"


def run_once(loop: Loop, *, watcher: str, programs: Path) -> tuple[float, float]:
    """Run the loop under `watcher` in a fresh process; return nanoseconds per step and the last loss (the same for all watchers)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        out = folder / "result.json"
        options = [
            *("--width", str(loop.width), "--batch-size", str(loop.batch_size)),
            *("--steps", str(loop.steps), "--warmup", str(loop.warmup), "--out", str(out)),
        ]
        if watcher == "traceml":
            command = [str(programs / "traceml"), "run", str(LOOP), "--logs-dir", str(folder / "logs")]
            command += ["--args", *options, "--watch", watcher]
        else:
            source_watcher = watcher if watcher.startswith("torch-profiler") else "none"
            command = [str(programs / "python"), str(LOOP), *options, "--watch", source_watcher]
        done = subprocess.run(
            command, cwd=folder, env=_environment(folder, watcher=watcher), capture_output=True, text=True, check=False
        )
        if done.returncode or not out.exists():
            raise SystemExit(f"{watcher} on the {loop.name} loop failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        result = json.loads(out.read_text())
        if watcher.startswith("pitstop") and not list((folder / "probe").glob("*.events")):
            raise SystemExit(f"{watcher}: the probe was not connected")
        if watcher == "traceml" and not list((folder / "logs").glob("**/final_summary.json")):
            raise SystemExit(f"traceml wrote no summary, so it watched nothing:\n{done.stdout[-2000:]}")
        return result["ns_per_step"], result["loss"]


def _environment(folder: Path, *, watcher: str) -> dict[str, str]:
    env = dict(os.environ)
    if watcher.startswith("pitstop"):
        probe = folder / "probe"
        probe.mkdir()
        mode = watcher.removeprefix("pitstop-")
        assert mode in ("clock", "profile")
        # A clock is told its last step, as in a trial; this one is never reached.
        options = {"stop_after_steps": 1 << 40} if mode == "clock" else {"sample_hz": SAMPLE_HZ}
        config = ProbeConfig(mode=mode, project_root=str(LOOP.parent), **options)
        env.update(prepare_probe(probe, config, env))
    return env
