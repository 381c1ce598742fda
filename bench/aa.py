"""Real A/A comparisons: the same program against itself through the trials of `pitstop tune`.

    python bench/aa.py --comparisons 60 --pairs 6 --journal bench-work/aa.jsonl -- python bench/digits.py

Every comparison is `--pairs` pairs of sandboxed processes in clock mode, interleaved A B B A, judged by `pitstop.stats.compare` at
margin 2 % and 0. Each process is a line of the journal; a stopped run goes on from there. Fifty-nine comparisons without a false
win bound its rate below 5 % (with 95 % confidence). Two processes, each pinned to a core of its own (`taskset -c`) and with a journal of its
own, take half the time; `--also` puts them together.
"""

import argparse
import json
import math
import statistics
import sys
from pathlib import Path

from pitstop.api.setup import Setup, start_setup
from pitstop.api.tune import TuneRequest
from pitstop.records import Change, TrialOutcome, VerdictKind
from pitstop.stats import compare, log_ratios, order_of_pairs

MARGINS = (0.02, 0.0)
MOST_FAILURES = 20  # trials in a row that give no time: the machine or the program is unfit


def measure(setup: Setup, *, comparisons: int, pairs: int, journal: Path) -> None:
    """Append what is missing of `comparisons` x `pairs` x 2 processes; invalid trials are repeated, as a tune does."""
    order = order_of_pairs(pairs) * comparisons
    done = len(read(journal))
    failures = 0
    for index in range(done, len(order)):
        while True:
            trial = setup.bench.trial(
                (),
                change=Change(),
                window=setup.baseline.window,
                stop_after=setup.baseline.stop_after,
                must_compile=False,
            )
            if trial.outcome is TrialOutcome.MEASURED and trial.ns_per_step:
                failures = 0
                break
            failures += 1
            print(f"  not counted: {trial.outcome.value} {trial.detail}", flush=True)
            if failures >= MOST_FAILURES:
                raise SystemExit(f"{failures} trials in a row gave no time; the last: {trial.detail}")
        line = {"comparison": index // (2 * pairs), "side": order[index], "ns_per_step": trial.ns_per_step}
        with journal.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(f"{index + 1}/{len(order)}: {trial.ns_per_step / 1e6:.3f} ms per step", flush=True)


def read(journal: Path) -> list[dict]:
    """Return the journal's lines; a last line that a kill cut off is dropped."""
    text = journal.read_text() if journal.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def summary(lines: list[dict], *, pairs: int) -> str:
    """Return false wins and losses per margin and the spread of process means, over complete comparisons."""
    by_comparison: dict[object, dict[int, list[float]]] = {}
    for line in lines:
        by_comparison.setdefault(line["comparison"], {0: [], 1: []})[line["side"]].append(line["ns_per_step"])
    whole = [sides for sides in by_comparison.values() if len(sides[0]) == len(sides[1]) == pairs]
    text = [f"{len(whole)} comparisons of {pairs} pairs"]
    for margin in MARGINS:
        kinds = [compare(log_ratios(sides[0], sides[1]), margin=margin).kind for sides in whole]
        counts = {kind.value: kinds.count(kind) for kind in VerdictKind if kinds.count(kind)}
        text.append(f"margin {margin:.0%}: {kinds.count(VerdictKind.FASTER)} false wins; {counts}")
    within = [
        statistics.variance([math.log(value) for value in (*sides[0], *sides[1])]) for sides in whole if pairs > 1
    ]
    if within:
        text.append(f"sd of process means within a comparison: {math.sqrt(statistics.fmean(within)):.2%}")
    return "\n".join(text)


def main() -> None:
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=6, help="even, so that the order is balanced")
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument(
        "--budget", type=float, default=600.0, help="seconds; a trial's window is a hundredth of it, at least 3 s"
    )
    parser.add_argument("--also", type=Path, nargs="*", default=[], help="journals of other processes, for the summary")
    parser.add_argument("--tolerate-load", action="store_true")
    args = parser.parse_args(sys.argv[1:split])
    command = tuple(sys.argv[split + 1 :])
    if command:
        args.journal.parent.mkdir(parents=True, exist_ok=True)
        request = TuneRequest(command=command, cwd=Path.cwd(), budget_s=args.budget, tolerate_load=args.tolerate_load)
        setup = start_setup(request, progress=lambda line, _progress: print(line, flush=True))
        measure(setup, comparisons=args.comparisons, pairs=args.pairs, journal=args.journal)
    lines = [
        {**line, "comparison": (number, line["comparison"])}
        for number, journal in enumerate([args.journal, *args.also])
        for line in read(journal)
    ]
    print(summary(lines, pairs=args.pairs))


if __name__ == "__main__":
    main()
