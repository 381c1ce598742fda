"""The device's side of the ledger: when it worked on what, on the host's clock.

The probe puts a device event before and after each forward, backward and optimizer step and reads them once they have happened; nothing
waits for them. Their times count from a first event of the device's own, so the two clocks have to be laid over each other. A device cannot
reach an event before the host has put it there: the least shift of clocks at which no event comes too early is the true one as soon as
the device had nothing to do at one of them, which is so at every blocking read. Clocks drift apart by some microseconds per second, so the
shift is found anew for each stretch of time.

A device that waits in the middle of a forward for its next kernel counts as working on it: busy here is an upper bound.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pitstop.records import Event, EventKind

__all__ = ["DeviceWork", "busy_share", "device_work", "outside"]

# 5 s drift apart by 50 us at ten parts per million, the tolerance of an ordinary crystal; neighbours on both sides are looked at as well.
_STRETCH_NS = 5_000_000_000
_NEIGHBOURS = 2
DURATION_UNIT_NS = 100
_KINDS: Mapping[int, EventKind] = {
    int(kind): kind for kind in (EventKind.FORWARD, EventKind.BACKWARD, EventKind.OPTIMIZER)
}


class DeviceWork(NamedTuple):
    """What the device did for one call of the host, on the host's clock. `kind` and `host_start_ns` say which call."""

    start_ns: int
    end_ns: int
    kind: EventKind
    host_start_ns: int


def device_work(events: Iterable[Event]) -> list[DeviceWork]:
    """Return the DEVICE `events` (any order) on the host's clock, in the order in which the device did them; none overlap.

    Times are nanoseconds. [] for programs without a device.
    """
    marks = sorted(
        (event for event in events if event.kind is EventKind.DEVICE),
        key=lambda event: (event.value, event.start_ns, event.arg),
    )
    shifts = _shifts(marks)
    found: list[DeviceWork] = []
    at: int | None = None
    for mark in marks:
        start = mark.value + shifts[mark.start_ns // _STRETCH_NS]
        end = start + mark.arg * DURATION_UNIT_NS
        start = start if at is None else max(start, at)
        if end > start and mark.flags in _KINDS:
            found.append(DeviceWork(start, end, _KINDS[mark.flags], mark.start_ns))
            at = end
    return found


def _shifts(marks: Sequence[Event]) -> dict[int, int]:
    """Return per stretch of the host's time what is to be added to the device's: the least that lets no event come too early."""
    least: dict[int, int] = defaultdict(lambda: -(1 << 62))
    for mark in marks:
        stretch = mark.start_ns // _STRETCH_NS
        least[stretch] = max(least[stretch], mark.start_ns - mark.value)
    around = range(-_NEIGHBOURS, _NEIGHBOURS + 1)
    return {stretch: max(least[stretch + step] for step in around if stretch + step in least) for stretch in set(least)}


def busy_share(work: Sequence[DeviceWork], stretches: Sequence[tuple[int, int]]) -> float | None:
    """Return the share of the disjoint `stretches` (in time order) in which the device worked, 0 to 1; None where they are no time."""
    whole = sum(end - start for start, end in stretches)
    idle = sum(end - start for start, end, _index in outside(stretches, [one[:2] for one in work]))
    return (whole - idle) / whole if whole else None


def outside(host: Sequence[tuple[int, int]], device: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Return the parts of the disjoint `host` stretches that lie in none of the disjoint `device` stretches, both in time order.

    As (start, end, index of the host's stretch).
    """
    left: list[tuple[int, int, int]] = []
    first = 0
    for index, (start, end) in enumerate(host):
        at = start
        while first < len(device) and device[first][1] <= start:
            first += 1
        for device_start, device_end in device[first:]:
            if device_start >= end:
                break
            if device_start > at:
                left.append((at, device_start, index))
            at = max(at, device_end)
            if at >= end:
                break
        if at < end:
            left.append((at, end, index))
    return left
