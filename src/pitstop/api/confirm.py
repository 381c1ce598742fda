"""`tune --confirm`: original and patched, each to its own end, compared by wall time and by the user's own metric."""

import re
from pathlib import Path

import msgspec

from pitstop.api.bench import Bench
from pitstop.errors import ProgramFailed, WrongUse
from pitstop.records import Change
from pitstop.records.results import ConfirmResult
from pitstop.stats.paired import estimate, log_ratios, order_of_pairs, t_interval

__all__ = ["check_options", "confirm_to_the_end", "last_match"]

_PAIRS = 3
_FOREVER_S = 30 * 24 * 3600.0


def check_options(*, metric: str | None, seed_option: str | None) -> None:
    """Raise WrongUse for a metric or a seed option that cannot be right."""
    _pattern(metric)
    if seed_option is not None and not seed_option.startswith("-") and not seed_option.endswith("="):
        raise WrongUse("tune.bad_seed_option", option=seed_option)


def _pattern(metric: str | None) -> re.Pattern[str] | None:
    """Compile the user's metric. Raises WrongUse where it is no regular expression with exactly one group."""
    if metric is None:
        return None
    try:
        pattern = re.compile(metric)
    except re.error as error:
        raise WrongUse("tune.bad_metric", metric=metric, why=str(error)) from error
    if pattern.groups != 1:
        raise WrongUse("tune.bad_metric", metric=metric, why=f"{pattern.groups} groups")
    return pattern


def confirm_to_the_end(bench: Bench, *, change: Change, metric: str | None, seed_option: str | None) -> ConfirmResult:
    """Run both programs to their end by turns, each pair with a seed of its own where the program has an option for it."""
    pattern = _pattern(metric)
    times: dict[bool, list[float]] = {True: [], False: []}
    metrics: dict[bool, list[float]] = {True: [], False: []}
    for number, side in enumerate(order_of_pairs(_PAIRS)):
        treated = bool(side)
        used = with_seed(change if treated else Change(), seed_option=seed_option, seed=number // 2)
        run, folder = bench.run(
            f"confirm-{'patched' if treated else 'original'}", change=used, probe=None, timeout_s=_FOREVER_S
        )
        if run.exit_code:
            raise ProgramFailed("tune.program_failed", exit_code=run.exit_code, last_line=f"see {folder}")
        times[treated].append((run.ended_ns - run.started_ns) / 1e9)
        if pattern is not None and (value := last_match(pattern, folder)) is not None:
            metrics[treated].append(value)
    compared = estimate(log_ratios(times[False], times[True]))
    return ConfirmResult(
        pairs=_PAIRS,
        speedup=compared.speedup,
        ci=t_interval(compared),
        metric_name=metric,
        metric_original=tuple(metrics[False]),
        metric_patched=tuple(metrics[True]),
    )


def with_seed(change: Change, *, seed_option: str | None, seed: int) -> Change:
    """Return `change` with the program's seed option added to the launch line."""
    if seed_option is None:
        return change
    given = (f"{seed_option}{seed}",) if seed_option.endswith("=") else (seed_option, str(seed))
    return msgspec.structs.replace(change, arguments=(*change.arguments, *given))


def last_match(pattern: re.Pattern[str], folder: Path) -> float | None:
    """Return the last value of the metric in the captured output of a run, or None."""
    for name in ("stdout", "stderr"):
        path = folder / name
        if not path.is_file():
            continue
        found = pattern.findall(path.read_text("utf-8", errors="replace"))
        for text in reversed(found):
            try:
                return float(text.rstrip("%"))
            except ValueError:
                continue
    return None
