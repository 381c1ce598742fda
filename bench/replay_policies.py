"""Replay the search on recorded landscapes of real programs: `python bench/replay_policies.py [FILE ...] [--times 200]`.

For each program and budget: how much of the best set's gain the search handed over, and its trials and time against trying
everything once. Without a file: all of bench/recorded/landscape-*.json.
"""

import argparse
import math
from pathlib import Path

import numpy as np

from pitstop.tune.recorded import Recorded, Replay, decode
from pitstop.tune.search_actions import SearchOptions
from pitstop.tune.simulate import run_tune

HERE = Path(__file__).parent
MINUTE_NS = 60 * 10**9
BUDGETS_MIN = (None, 10, 6, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--times", type=int, default=200)
    arguments = parser.parse_args()
    print(
        "| program | sets | best set | budget | policy | share of the best, mean (worst tenth) | trials, median | time, of trying all |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for file in arguments.files or sorted((HERE / "recorded").glob("landscape-*.json")):
        recorded = decode(file.read_bytes())
        for budget in BUDGETS_MIN:
            for policy, interventions in (
                ("ledger only", ()),
                ("with interventions", ("cached-batch", "loader-alone")),
            ):
                options = SearchOptions(
                    budget_ns=None if budget is None else round(0.75 * budget * MINUTE_NS),
                    reserve_ns=0 if budget is None else round(0.25 * budget * MINUTE_NS),
                    interventions=interventions,
                )
                print(row(recorded, options, budget=budget, policy=policy, times=arguments.times), flush=True)


def row(recorded: Recorded, options: SearchOptions, *, budget: int | None, policy: str, times: int) -> str:
    best, gain = recorded.best()
    everything_ns = sum(trial.wall_ns for trial in recorded.trials)
    shares, trials, spent = [], [], []
    for seed in range(times):
        replay = Replay(recorded, rng=np.random.default_rng(seed))
        finish = run_tune(recorded.proposals, replay, options=options).finish
        reached = recorded.log_gain(finish.chosen) if finish.chosen else 0.0
        shares.append(math.exp((reached or 0.0) - gain))
        trials.append(finish.trials)
        spent.append(finish.spent_ns / everything_ns)
    sets = len({trial.proposals for trial in recorded.trials}) - 1
    return (
        f"| {recorded.program} | {sets} | {' + '.join(best)}: {math.exp(gain):.2f}x | {f'{budget} min' if budget else 'none'} | {policy} | "
        f"{np.mean(shares):.1%} ({np.quantile(shares, 0.1):.1%}) | {np.median(trials):.0f} | {np.median(spent):.0%} |"
    )


if __name__ == "__main__":
    main()
