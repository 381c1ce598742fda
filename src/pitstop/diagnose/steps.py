"""Finding the steps of a run in its events: which event ends a step, warm-up, epochs, samples.

One optimizer update and everything since the previous one is a step. Where the program has no optimizer the clock falls
back to backward passes, forward calls, and batches, in this order.
"""

from collections import Counter
from collections.abc import Sequence

from pitstop.diagnose.loaders import training_loaders
from pitstop.diagnose.pauses import find_pauses, is_inside
from pitstop.records import GRADIENTS, Event, EventKind, Evidence, StepClock, Steps

__all__ = ["find_steps", "steps_per_epoch", "training_thread"]

_CLOCKS: tuple[tuple[EventKind, StepClock], ...] = (
    (EventKind.STEP, "step"),
    (EventKind.OPTIMIZER, "optimizer"),
    (EventKind.BACKWARD, "backward"),
    (EventKind.FORWARD, "forward"),
    (EventKind.FETCH, "fetch"),
)
_LED = frozenset({"optimizer", "forward"})  # clocks of which several may run in one loop, told apart by the events' arg
# An optimizer stepped less often than this share of the busiest one only warms something up; it does not pace the loop.
_LEADER_MIN_SHARE = 0.02
_MIN_WARMUP = 3


def find_steps(events: Sequence[Event], *, evidence: Evidence | None = None) -> Steps | None:
    """Return the steps in `events` of the training process (any order), or None where nothing ends a step.

    Of several optimizers the one stepped least often paces the loop (a GAN with five critic updates per generator update has
    one step per generator update); among equals the one that first steps last, so that the step holds the whole cycle.
    Optimizers that follow each other (one per phase, fold or restart) count as one. The same holds for the modules of a loop
    that only runs forward (a model and its criterion, an encoder and the decoder called for each token).
    """
    thread = training_thread(events)
    ordered = sorted(
        (event for event in events if event.thread == thread or event.kind is EventKind.MARK),
        key=lambda event: event.end_ns,
    )
    for kind, clock in _CLOCKS:
        enders = [event for event in ordered if event.kind is kind]
        if clock == "backward":  # gradients asked for by hand pace only what never goes backward
            enders = [event for event in enders if event.arg != GRADIENTS] or enders
        if clock in _LED and enders:
            leaders = _leaders(enders)
            enders = [event for event in enders if event.arg in leaders]
        if enders:
            return _steps(ordered, enders, clock, evidence)
    return None


def training_thread(events: Sequence[Event]) -> int:
    """Return the thread that does the training: the one with most step-ending events of the best clock present."""
    for kind, _clock in _CLOCKS:
        counts = Counter(event.thread for event in events if event.kind is kind)
        if counts:
            return counts.most_common(1)[0][0]
    return 0


def steps_per_epoch(steps: Steps, evidence: Evidence, loaders: frozenset[int] = frozenset()) -> int | None:
    """Return the number of steps in one epoch, from observed epoch edges, else from the loaders' lengths; None if unknown."""
    edges = steps.epoch_edges
    if edges:
        if len(edges) >= 2:
            return edges[-1] - edges[-2]
        return edges[0]
    for loader in evidence.loaders:
        if loader.id in loaders and loader.dataset_len and loader.batch_size:
            batches = -(-loader.dataset_len // loader.batch_size)
            return max(1, batches // max(1, steps.micro_steps))
    return None


def _leaders(enders: Sequence[Event]) -> tuple[int, ...]:
    """Return the optimizers (or modules) that pace the loop, one after the other; `enders` in time order."""
    counts = Counter(event.arg for event in enders)
    first_seen = {event.arg: event.end_ns for event in reversed(enders)}
    last_seen = {event.arg: event.end_ns for event in enders}
    successions: list[
        list[int]
    ] = []  # each optimizer joins the first one whose last member has stepped for the last time
    for name in sorted(first_seen, key=lambda name: first_seen[name]):
        free = next((one for one in successions if last_seen[one[-1]] < first_seen[name]), None)
        if free is None:
            successions.append([name])
        else:
            free.append(name)
    steps = [sum(counts[name] for name in names) for names in successions]
    least = _LEADER_MIN_SHARE * max(steps)
    eligible = [at for at, count in enumerate(steps) if count >= max(1, least)]
    leading = min(eligible, key=lambda at: (steps[at], -first_seen[successions[at][0]]))
    return tuple(successions[leading])


def _steps(ordered: Sequence[Event], enders: Sequence[Event], clock: StepClock, evidence: Evidence | None) -> Steps:
    ends = tuple(event.end_ns for event in enders)
    start_ns = min(event.start_ns for event in ordered if event.kind is not EventKind.MARK)
    loaders = training_loaders(ordered)
    pauses = find_pauses(ordered)
    samples = [0] * len(ends)
    backwards = 0
    edges: list[int] = []
    last_compile = -1
    step = 0
    for event in ordered:
        while step < len(ends) and event.end_ns > ends[step]:
            step += 1
        if step == len(ends):
            break
        if event.kind is EventKind.FETCH and event.arg in loaders:
            samples[step] += event.value
        elif event.kind is EventKind.BACKWARD:
            backwards += event.arg != GRADIENTS and not is_inside(event.start_ns, event.end_ns, pauses)
        elif (
            event.kind is EventKind.LOADER_ITER
            and event.arg in loaders
            and step > 0
            and (not edges or edges[-1] != step)
        ):
            edges.append(step)
        elif event.kind is EventKind.COMPILE and step < len(ends) // 2:
            last_compile = step
    seen = len(ends)
    if pauses:
        starts = (start_ns, *ends[:-1])
        detailed = [not is_inside(start, end, pauses) for start, end in zip(starts, ends, strict=True)]
        seen = sum(detailed)
        samples = _carried_on(samples, detailed)
    micro_steps = round(backwards / seen) if seen and clock in ("optimizer", "step") else 1
    return Steps(
        clock=clock,
        start_ns=start_ns,
        ends_ns=ends,
        samples=tuple(samples),
        micro_steps=max(1, micro_steps),
        epoch_edges=tuple(edges),
        warmup=_warmup(len(ends), last_compile, loaders, evidence),
    )


def _carried_on(samples: Sequence[int], detailed: Sequence[bool]) -> list[int]:
    """Give steps in pauses, whose batches were not seen, as many samples as the last step before them."""
    result: list[int] = []
    for count, is_seen in zip(samples, detailed, strict=True):
        result.append(count if is_seen or not result else result[-1])
    return result


def _warmup(count: int, last_compile: int, loaders: frozenset[int], evidence: Evidence | None) -> int:
    """Return how many steps to discard: those that compile, and the batches that workers can have ready before the loop starts."""
    prefetched = 0
    for loader in evidence.loaders if evidence else ():
        if loader.id in loaders and loader.num_workers:
            prefetched = max(prefetched, loader.num_workers * (loader.prefetch_factor or 2))
    wanted = max(_MIN_WARMUP, prefetched, last_compile + 1)
    return min(wanted, count // 2)
