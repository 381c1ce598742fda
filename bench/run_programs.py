"""Tune each outside program and each of our own, and write docs/results.md: python bench/run_programs.py [NAME ...] [--budget TIME] [--again]

One JSON file per program in bench-work/results; a program that has one is not run again, and one that was stopped in the
middle goes on from its journal (`pitstop tune --resume`).
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from programs.catalogue import PROGRAMS
from programs.checkout import SOURCE, unmodified
from programs.environments import python_of
from programs.outside import ROOT, WORK, Outside
from programs.own import OWN_PROGRAMS
from programs.prepare import prepare
from results_page import page

RESULTS = WORK / "results"
PITSTOP = (str(ROOT / ".venv" / "bin" / "python"), "-m", "pitstop")
ALL = PROGRAMS + OWN_PROGRAMS


def state_of(program: Outside) -> object:
    """Return what must be the same after tuning as before: our programs' sources, or that an outside one is as committed."""
    if program.own:
        return {path: path.read_bytes() for path in sorted(program.cwd.rglob("*")) if is_source(path)}
    return unmodified(program.folder)


def is_source(path: Path) -> bool:
    return path.suffix in {".py", ".yaml"} and not {".pitstop", "outputs"} & set(path.parts)


def tune(program: Outside, *, budget: str) -> dict:
    """Run `pitstop tune` on one program and return its result, or how it ended where there is none."""
    before = state_of(program)
    if not before:
        raise SystemExit(
            f"{program.folder} differs from the commit that is measured; remove {program.cwd} and run again"
        )
    out = RESULTS / f"{program.name}.json"
    started = RESULTS / f"{program.name}.started"
    # The screen goes to standard output and to a log; only a complete result is moved to its name.
    part = out.with_suffix(".part")
    command = [*PITSTOP, "tune", "--budget", budget, "--json", str(part), "--lang", "en"]
    command += ["--resume"] if started.exists() else []
    variables = {name: value.format(work=WORK) for name, value in program.variables.items()}
    command += ["--", str(python_of(program.environment)), *program.arguments]
    started.touch()
    began = time.monotonic()
    with (RESULTS / f"{program.name}.log").open("a") as log:
        done = subprocess.run(
            command, cwd=program.cwd, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **variables}, check=False
        )
    if done.returncode == 2 and "--resume" in command:  # stopped before there was a journal: nothing to go on from
        started.unlink()
        return tune(program, budget=budget)
    result = {"exit_code": done.returncode, "budget": budget, "wall_s": time.monotonic() - began, "tune": None}
    if part.exists():
        result["tune"] = json.loads(part.read_text())
        part.unlink()
    result["clean"] = state_of(program) == before
    temporary = out.with_suffix(".tmp")
    temporary.write_text(json.dumps(result))
    temporary.replace(out)
    started.unlink()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--budget", help="for all of them, instead of what the catalogue gives each")
    parser.add_argument("--source", default=SOURCE, help="where pytorch/examples is cloned from")
    parser.add_argument("--again", action="store_true", help="run also what has a result")
    parser.add_argument("--prepare-only", action="store_true")
    args = parser.parse_args()
    unknown = set(args.names) - {program.name for program in ALL}
    if unknown:
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    chosen = tuple(program for program in ALL if not args.names or program.name in args.names)
    prepare(chosen, source=args.source)
    if args.prepare_only:
        return
    RESULTS.mkdir(parents=True, exist_ok=True)
    for program in chosen:
        out = RESULTS / f"{program.name}.json"
        if args.again or not out.exists():
            print(f"{program.name} ...", flush=True)
            result = tune(program, budget=args.budget or program.budget)
            print(f"{program.name}: exit {result['exit_code']} after {result['wall_s']:.0f} s", flush=True)
        (ROOT / "docs" / "results.md").write_text(page(PROGRAMS, RESULTS, own=OWN_PROGRAMS), encoding="utf-8")


if __name__ == "__main__":
    main()
