"""Pauses: stretches of a run in which the probe recorded only where steps ended, because details of short steps cost too much.

Nothing is known of a pause but its steps' times. They are taken to be made of what the plain steps of the bursts around are made of:
those in which no epoch begins or ends, nothing is evaluated, saved or compiled. The probe sees to it that a pause ends where a
loader begins, so that a pause holds plain steps only, as long as the program evaluates through a loader. Where loaders begin so often
that every burst sees several, pauses hold them too, and plain is what the bursts saw, epoch edges and evaluations included.
"""

import bisect
import statistics
from collections.abc import Mapping, Sequence

from pitstop.records import Event, EventKind, Mark, Steps

__all__ = ["Stretch", "fill", "find_pauses", "is_inside", "plain_steps"]

Stretch = tuple[int, int]  # start and end in nanoseconds

_NEVER_PLAIN = frozenset({EventKind.CHECKPOINT, EventKind.COMPILE})
_EDGES = frozenset({EventKind.LOADER_ITER, EventKind.EPOCH_END})
# A step of a pause that takes longer than so many plain ones, and than any, did something else besides, of which nothing is known.
_LONG = 4


def find_pauses(ordered: Sequence[Event]) -> tuple[Stretch, ...]:
    """Return the pauses, from the MARK events in time order; one that never ends lasts to the last event."""
    found: list[Stretch] = []
    began: int | None = None
    for event in ordered:
        if event.kind is EventKind.MARK and event.arg == Mark.PAUSE:
            began = event.end_ns if began is None else began
        elif event.kind is EventKind.MARK and event.arg == Mark.RESUME and began is not None:
            found.append((began, event.end_ns))
            began = None
    if began is not None:
        found.append((began, max(event.end_ns for event in ordered)))
    return tuple(found)


def is_inside(start_ns: int, end_ns: int, pauses: Sequence[Stretch]) -> bool:
    """Tell whether the stretch overlaps with a pause; `pauses` in time order."""
    index = (
        bisect.bisect_left(pauses, end_ns, key=lambda pause: pause[0]) - 1
    )  # the last one that starts before the end
    return index >= 0 and pauses[index][1] > start_ns


def plain_steps(
    ordered: Sequence[Event], steps: Steps, *, pauses: Sequence[Stretch], evaluations: Sequence[Stretch], edges: bool
) -> tuple[Stretch, ...]:
    """Return the steady steps that were seen in detail and are as those of the pauses; `edges`: loaders begin in pauses."""
    never = _NEVER_PLAIN if edges else _NEVER_PLAIN | _EDGES
    disturbed = sorted((event.start_ns, event.end_ns) for event in ordered if event.kind in never)
    avoided = (pauses, disturbed) if edges else (pauses, disturbed, evaluations)
    return tuple(
        (start, end)
        for start, end in steps.stretches[steps.warmup :]
        if not any(is_inside(start, end, stretches) for stretches in avoided)
    )


def parts_in(pauses: Sequence[Stretch], steps: Steps) -> list[Stretch]:
    """Return the parts of steps that lie in pauses; both in time order."""
    found: list[Stretch] = []
    at = 0
    for start, end in steps.stretches:
        while at < len(pauses) and pauses[at][1] <= start:
            at += 1
        for pause_start, pause_end in pauses[at:]:
            if pause_start >= end:
                break
            found.append((max(start, pause_start), min(end, pause_end)))
    return found


def fill(*, plain: Sequence[Stretch], pattern: Mapping[str, int], uncovered_ns: Sequence[int]) -> dict[str, int]:
    """Return what the parts of steps in pauses are taken to be made of, in nanoseconds by category; the rest is not known.

    `pattern`: nanoseconds per category in the plain steps. `uncovered_ns`: per part, the time in no event.
    """
    total = sum(pattern.values())
    if not total:
        return {}
    times = [end - start for start, end in plain]
    usual = statistics.median(times)
    longest = max(_LONG * usual, *times)
    known = sum(round(usual) if time > longest else time for time in uncovered_ns)
    return {category: known * amount // total for category, amount in pattern.items()}
