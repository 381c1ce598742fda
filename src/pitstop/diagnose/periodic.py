"""Work that comes back every N steps: a checkpoint, an evaluation, plots, the edge of an epoch, or something without a name.

Per category of the ledger: the steps that hold much more of it than steps usually do, if they are evenly spaced.
"""

import itertools
import statistics
from collections.abc import Sequence

from pitstop.diagnose.account import Span, account_by_step, spans_of
from pitstop.diagnose.hot_places import hottest
from pitstop.records import CATEGORIES, Category, Event, Steps
from pitstop.records.results import PeriodicWork

__all__ = ["find_periodic"]

_MIN_EXCESS = 0.25  # of a usual step, above what steps usually have of the category
_MIN_SHARE = 0.005  # of the steady time
_MOST_STEPS = 0.5  # that hold it: what comes in most steps has no period
# How often it must have come back. Noise of a busy machine falls into forward, backward and gaps, and sometimes evenly.
_OFTEN, _OFTEN_UNNAMED = 3, 5
_NAMED: frozenset[Category] = frozenset({"checkpoint", "evaluation", "logging", "gc", "compile"})
_EVEN = 0.8  # share of the distances that are the usual one, to one step or a fiftieth


def find_periodic(
    events: Sequence[Event],
    steps: Steps,
    *,
    stack_samples: Sequence[tuple[str, int]] = (),
    spans: Sequence[Span] | None = None,
) -> tuple[PeriodicWork, ...]:
    """Return what comes back at a fixed period in the steady steps, the most expensive first; `spans` as for `account`."""
    stretches = steps.stretches[steps.warmup :]
    wall_ns = sum(end - start for start, end in stretches)
    if len(stretches) < 2 * _OFTEN or not wall_ns:
        return ()
    usual_ns = statistics.median(end - start for start, end in stretches)
    per_step = account_by_step(spans_of(events, steps) if spans is None else spans, steps)
    found: list[PeriodicWork] = []
    for category in CATEGORIES:
        spent = [counts[category] for counts in per_step]
        base = statistics.median(spent)
        hits = [index for index, time in enumerate(spent) if time - base > _MIN_EXCESS * usual_ns]
        every = _period(hits, often=_OFTEN if category in _NAMED else _OFTEN_UNNAMED)
        extra = sum(spent[index] - base for index in hits)
        if every is None or len(hits) > _MOST_STEPS * len(spent) or extra < _MIN_SHARE * wall_ns:
            continue
        found.append(
            PeriodicWork(
                category=category,
                every=every,
                times=len(hits),
                extra_ns=round(extra / len(hits)),
                share=extra / wall_ns,
                where=hottest(stack_samples, category),
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.share, one.category)))


def _period(hits: Sequence[int], *, often: int) -> int | None:
    """Return the distance at which `hits` follow each other, None where they are too few or not even."""
    if len(hits) < often:
        return None
    distances = [after - before for before, after in itertools.pairwise(hits)]
    usual = round(statistics.median(distances))
    even = sum(abs(distance - usual) <= max(1, 0.02 * usual) for distance in distances)
    return usual if usual >= 2 and even >= _EVEN * len(distances) else None
