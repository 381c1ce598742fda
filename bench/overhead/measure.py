"""Measure the cost of watching: python bench/overhead/measure.py [--pairs 12] [--journal FILE] [--write docs/overhead.md]

Every round runs each watcher once in a fresh process, forwards and backwards in turn, so that slow minutes of the machine
fall on all of them; each watcher is compared with the unwatched run of its own round. The journal has one line per process: a
stopped measurement goes on where it was.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from overhead.page import page
from overhead.watchers import ROOT, WATCHERS, Loop, environment, run_once
from pitstop.stats import order_of_pairs

LOOPS = (
    # Two seconds of warm-up and then two cycles of a burst and a pause: short steps are not always looked at in detail.
    Loop(name="0.4 ms", width=64, batch_size=32, steps=8000, warmup=8000),
    # The same again without the watchers that take a minute a round: more rounds, narrower intervals.
    Loop(
        name="0.4 ms, the probe alone",
        width=64,
        batch_size=32,
        steps=8000,
        warmup=8000,
        watchers=WATCHERS[:3],
        rounds=48,
    ),
    Loop(name="5 ms", width=512, batch_size=128, steps=500, warmup=50),
    Loop(name="50 ms", width=1024, batch_size=512, steps=60, warmup=6),
    Loop(
        name="50 ms, the probe alone",
        width=1024,
        batch_size=512,
        steps=60,
        warmup=6,
        watchers=WATCHERS[:3],
        rounds=12,
    ),
)


def measure(loop: Loop, *, pairs: int, journal: Path) -> None:
    """Append the runs that are still missing to the journal."""
    programs = environment()
    done = sum(line["loop"] == loop.name for line in read(journal))
    order = order_of_pairs(loop.rounds or pairs, treated=len(loop.watchers) - 1)
    for index, side in enumerate(order[done:], start=done):
        ns_per_step, loss = run_once(loop, watcher=loop.watchers[side], programs=programs)
        line = {"loop": loop.name, "round": index // len(loop.watchers), "watcher": loop.watchers[side]}
        line |= {"ns_per_step": ns_per_step, "loss": loss, "steps": loop.steps}
        with journal.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(
            f"{loop.name} {index + 1}/{len(order)} {loop.watchers[side]}: {ns_per_step / 1000:.1f} us per step",
            flush=True,
        )


def read(journal: Path) -> list[dict]:
    """Return the lines of a journal; a last line that was cut off by a kill is dropped."""
    if not journal.exists():
        return []
    text = journal.read_text()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=12, help="rounds per loop (even)")
    parser.add_argument("--journal", type=Path, default=ROOT / "bench-work" / "overhead.jsonl")
    parser.add_argument("--loops", nargs="*", default=[loop.name for loop in LOOPS])
    parser.add_argument("--write", type=Path, help="write the page here, for instance docs/overhead.md")
    args = parser.parse_args()
    args.journal.parent.mkdir(parents=True, exist_ok=True)
    for loop in LOOPS:
        if loop.name in args.loops:
            measure(loop, pairs=args.pairs, journal=args.journal)
    text = page(read(args.journal), loops=LOOPS)
    if args.write:
        args.write.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
