"""From the journal of runs to docs/overhead.md."""

import platform
from datetime import date

import torch

from overhead.watchers import Loop
from pitstop.measure.machine import fingerprint
from pitstop.stats import estimate, log_ratios, t_interval
from pitstop.stats.paired import student_critical

__all__ = ["page"]

HEAD = """# What watching costs

Written by `bench/overhead/measure.py`; do not edit. One plain training loop (`bench/overhead/loop.py`: loader, three linear
layers, cross-entropy, AdamW, one thread) in three sizes. Every round runs each watcher once in a fresh process, forwards and
backwards in turn; each is compared with the unwatched run of its own round. Only steps after the warm-up count: starting a
watcher and its report at the end do not. The ratio is watched time / unwatched time (geometric mean over rounds), the difference
is the mean over rounds; brackets hold 95 % intervals (Student's t).

- `pitstop-clock`: the probe as timing trials use it (where steps end).
- `pitstop-profile`: the probe as `pitstop profile` uses it (all events, 50 stack samples per second; steps below 3 ms in bursts after the
  first two seconds, which are this loop's warm-up).
- `traceml`: traceml-ai 0.5.0, started by `traceml run`, `init(mode="auto")` and `trace_step(model)` in the source; its aggregator
  process has the other core.
- `torch-profiler`, `-shapes`: `torch.profiler.profile` of CPU activity around the timed steps, without and with `record_shapes`.
"""


_FEWEST_ROUNDS = 4


def page(lines: list[dict], *, loops: tuple[Loop, ...]) -> str:
    """Return the page as Markdown. Rounds in which not every watcher ran are left out."""
    parts = [HEAD]
    for loop in loops:
        rounds: dict[int, dict[str, float]] = {}
        for line in lines:
            if line["loop"] == loop.name:
                rounds.setdefault(line["round"], {})[line["watcher"]] = line["ns_per_step"]
        whole = [times for _, times in sorted(rounds.items()) if times.keys() >= set(loop.watchers)]
        if len(whole) >= 2:
            parts.append(_table(loop.name, whole, watchers=loop.watchers, agree=_losses_agree(lines, loop.name)))
    parts.append(_machine() if len(parts) > 1 else "\nNot measured yet.\n")
    return "\n".join(parts)


def _table(loop: str, rounds: list[dict[str, float]], *, watchers: tuple[str, ...], agree: bool) -> str:
    unwatched = [times[watchers[0]] for times in rounds]
    mean_us = sum(unwatched) / len(unwatched) / 1000
    rows = [f"\n## Step of {loop}\n", f"{len(rounds)} rounds; unwatched {mean_us:.1f} us per step.", ""]
    if len(rounds) < _FEWEST_ROUNDS:
        rows += [f"Fewer than {_FEWEST_ROUNDS} rounds give no interval worth the name: orders of size only.", ""]
    rows += ["| watcher | time ratio | us per step more |", "|---|---|---|"]
    for watcher in watchers[1:]:
        watched = [times[watcher] for times in rounds]
        ratios = estimate(log_ratios(watched, unwatched))
        more = estimate([(with_it - without) / 1000 for with_it, without in zip(watched, unwatched, strict=True)])
        if len(rounds) < _FEWEST_ROUNDS:
            rows.append(f"| {watcher} | {ratios.speedup:.2f} | {more.log_ratio:+.0f} |")
            continue
        low, high = t_interval(ratios)
        half = student_critical(0.025, df=more.pairs - 1) * more.standard_error
        rows.append(
            f"| {watcher} | {ratios.speedup:.3f} [{low:.3f}, {high:.3f}] "
            f"| {more.log_ratio:+.1f} [{more.log_ratio - half:+.1f}, {more.log_ratio + half:+.1f}] |"
        )
    rows.append("")
    rows.append(
        "The last loss was the same bit for bit under every watcher."
        if agree
        else "**The last losses differ between watchers: something was computed differently.**"
    )
    return "\n".join(rows)


def _losses_agree(lines: list[dict], loop: str) -> bool:
    return len({line["loss"] for line in lines if line["loop"] == loop}) == 1


def _machine() -> str:
    facts = ", ".join(f"{name} {value}" for name, value in fingerprint().items())
    return f"\nMeasured {date.today()} with Python {platform.python_version()}, torch {torch.__version__}; {facts}.\n"
