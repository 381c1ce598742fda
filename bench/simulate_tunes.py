"""Thousands of simulated tunes, and the table of docs/statistics.md: `python bench/simulate_tunes.py [tunes per row]`.

Noise of real runs can be used instead of made noise: `--recorded FILE`, one process mean in ns per line, in the order measured.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pitstop.stats import Plan, sequential_power
from pitstop.tune.search_actions import SearchOptions
from pitstop.tune.simulate import Machine, Noise, best_possible, run_tune
from pitstop.tune.simulate_programs import SimulatedProgram, null_program, planted_program, random_program

MINUTE_NS = 60 * 10**9
Make = Callable[[np.random.Generator], SimulatedProgram]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tunes", nargs="?", type=int, default=1000)
    parser.add_argument("--recorded", type=Path)
    arguments = parser.parse_args()
    noises = {
        "1 %": Noise(sd=0.01),
        "3.9 %": Noise(sd=0.039),
        "1.5 %, drift, bursts": Noise(sd=0.015, drift_sd=0.01, burst_chance=0.05, burst=0.2),
    }
    if arguments.recorded:
        values = [float(line) for line in arguments.recorded.read_text().split()]
        middle = sum(map(math.log, values)) / len(values)
        noises = {f"recorded ({len(values)})": Noise(recorded=tuple(math.log(value) - middle for value in values))}
    print(
        "| program | noise of one run | budget | confirmed | share of the best possible, mean (worst tenth) | trials, median (p90) |"
    )
    print("|---|---|---|---|---|---|")
    for noise_name, noise in noises.items():
        for name, make, options in rows():
            print(
                row(
                    name, noise_name, make, noise, options, tunes=arguments.tunes * (5 if name.startswith("A/A") else 1)
                ),
                flush=True,
            )
    looks = SearchOptions().looks
    print()
    print("| noise of one run | 1.03x | 1.05x | 1.10x | 1.20x |")
    print("|---|---|---|---|---|")
    for sd in (0.005, 0.01, 0.02, 0.039, 0.08):
        powers = (
            sequential_power(math.log(gain), sd=sd * math.sqrt(2), margin=0.02, plan=Plan(looks=looks))
            for gain in (1.03, 1.05, 1.10, 1.20)
        )
        print(f"| {100 * sd:g} % | " + " | ".join(f"{power:.0%}" for power in powers) + " |")


def rows() -> list[tuple[str, Make, SearchOptions]]:
    return [
        ("A/A, margin 2 %", lambda _: null_program(), SearchOptions()),
        ("A/A, margin 0", lambda _: null_program(), SearchOptions(margin=0.0)),
        ("one gain of 5 %", lambda _: planted_program({"bf16": 1.05}), SearchOptions()),
        ("one gain of 2x", lambda _: planted_program({"workers=2": 2.0}), SearchOptions()),
        ("random stages", random_program, SearchOptions()),
        ("random stages", random_program, SearchOptions(budget_ns=10 * MINUTE_NS)),
        ("random stages", random_program, SearchOptions(budget_ns=4 * MINUTE_NS)),
        ("random stages", random_program, SearchOptions(budget_ns=2 * MINUTE_NS)),
    ]


def row(name: str, noise_name: str, make: Make, noise: Noise, options: SearchOptions, *, tunes: int) -> str:
    confirmed, shares, trials = 0, [], []
    for seed in range(tunes):
        rng = np.random.default_rng(seed)
        program = make(rng)
        known = program.proposals()
        finish = run_tune(known, Machine(program.log_gain, rng=rng, noise=noise), options=options).finish
        confirmed += bool(finish.chosen)
        _, best = best_possible(known, program.log_gain)
        shares.append(math.exp(program.log_gain(finish.chosen) - best))
        trials.append(finish.trials)
    budget = "none" if options.budget_ns is None else f"{options.budget_ns // MINUTE_NS} min"
    return (
        f"| {name} | {noise_name} | {budget} | {confirmed / tunes:.1%} of {tunes} | "
        f"{np.mean(shares):.1%} ({np.quantile(shares, 0.1):.1%}) | {np.median(trials):.0f} ({np.quantile(trials, 0.9):.0f}) |"
    )


if __name__ == "__main__":
    main()
