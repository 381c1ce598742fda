"""Measure every set of changes of one program with real trials: the landscape on which search policies are replayed.

    python bench/record_landscape.py --out bench/recorded/landscape-digits.json --only bf16-autocast,fused-optimizer -- python bench/digits.py

Sets run in random order, a baseline after every fourth. What is done is kept; a stopped run goes on. `bench/replay_policies.py` reads it.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from pitstop.api.interventions import intervene, possible_interventions
from pitstop.api.setup import Setup, start_setup
from pitstop.api.tune import TuneRequest
from pitstop.measure.machine import read_machine
from pitstop.records import Change, Trial, TrialOutcome
from pitstop.treat import CannotEdit, build_change
from pitstop.tune.recorded import Recorded, all_sets, decode, encode
from pitstop.tune.search_actions import Intervene

BETWEEN_BASELINES = 4
MOST_BUSY = 10


def trial_of(setup: Setup, key: tuple[str, ...]) -> Trial:
    chosen = setup.chosen(key)
    try:
        change = build_change(chosen, setup.view) if chosen else Change()
    except CannotEdit as error:
        return setup.could_not_act(key, reason=error.reason)
    for _ in range(MOST_BUSY):
        trial = setup.bench.trial(
            key,
            change=change,
            window=setup.baseline.window,
            stop_after=setup.baseline.stop_after,
            must_compile=any(one.compiles for one in chosen),
        )
        if trial.outcome is not TrialOutcome.BUSY:
            return trial
    raise SystemExit(f"the machine was busy {MOST_BUSY} times in a row: {trial.detail}")


def main() -> None:
    split = sys.argv.index("--")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--window", default=300.0, type=float, help="budget in seconds from which the window's length follows"
    )
    arguments = parser.parse_args(sys.argv[1:split])
    request = TuneRequest(
        command=tuple(sys.argv[split + 1 :]),
        cwd=Path.cwd(),
        run_root=Path("bench-work"),
        budget_s=arguments.window,
        only=tuple(name for name in arguments.only.split(",") if name),
    )
    setup = start_setup(request, progress=lambda line, _progress: print(line, flush=True))
    part = arguments.out.with_suffix(".part")
    done = decode(part.read_bytes()) if part.exists() else None
    trials = list(done.trials) if done else []
    interventions = (
        done.interventions
        if done
        else tuple(intervene(setup, Intervene(what=what)) for what in possible_interventions(setup))
    )
    keys = [key for key in all_sets(setup.proposals) if key]
    np.random.default_rng(0).shuffle(keys)
    known = {trial.proposals for trial in trials}
    left = [key for key in keys if key not in known]
    print(f"{len(keys)} sets, {len(left)} left", flush=True)
    for number, key in enumerate(left):
        began = time.monotonic()
        for wanted in ((), key) if number % BETWEEN_BASELINES == 0 else (key,):
            trials.append(trial_of(setup, wanted))
            print(f"{number + 1}/{len(left)} {'+'.join(wanted) or 'baseline'}: {trials[-1].outcome.value} "
                  f"{(trials[-1].ns_per_step or 0) / 1e6:.2f} ms, {time.monotonic() - began:.0f} s", flush=True)  # fmt: skip
        machine = read_machine()
        recorded = Recorded(
            program=arguments.name,
            machine=f"{machine.cpus} cores",
            proposals=setup.proposals,
            trials=tuple(trials),
            interventions=interventions,
            check_ns=6 * max(trial.wall_ns for trial in trials if not trial.proposals),
        )
        part.write_bytes(encode(recorded))
    part.replace(arguments.out)


if __name__ == "__main__":
    main()
