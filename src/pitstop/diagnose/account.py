"""The ledger: every nanosecond of the steady steps goes to exactly one category.

Per instant the device decides while it works on a forward, a backward or an optimizer step (`pitstop.diagnose.device_time`), else the host:
there the innermost open event of the training thread decides; inside an evaluation phase everything but checkpoints,
compiling and garbage collection is evaluation; the time from the end of a forward to the start of its backward is the loss and belongs to
`forward`; what no event covers is what stack samples name there (`python`, `logging`, `sync`, ...), and `unknown` otherwise. Where the probe
paused (`pitstop.diagnose.pauses`), what no event covers is made up as the plain steps around are.
"""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pitstop.diagnose.device_time import device_work, outside
from pitstop.diagnose.loaders import training_loaders
from pitstop.diagnose.pauses import Stretch, fill, find_pauses, is_inside, parts_in, plain_steps
from pitstop.diagnose.steps import training_thread
from pitstop.records import CATEGORIES, Category, Event, EventKind, Ledger, Steps

__all__ = ["Span", "account", "account_by_step", "categories_in", "host_spans_of", "median_by_step", "spans_of"]

_CATEGORY_OF: dict[EventKind, Category] = {
    EventKind.FETCH: "data_wait",
    EventKind.LOADER_ITER: "data_wait",
    EventKind.EPOCH_END: "data_wait",
    EventKind.FORWARD: "forward",
    EventKind.BACKWARD: "backward",
    EventKind.OPTIMIZER: "optimizer",
    EventKind.ZERO_GRAD: "optimizer",
    EventKind.GC: "gc",
    EventKind.CHECKPOINT: "checkpoint",
    EventKind.COMPILE: "compile",
    EventKind.SYNC: "sync",
    EventKind.HOST_TO_DEVICE: "host_to_device",
    EventKind.LOGGING: "logging",
    EventKind.COMMUNICATION: "communication",
}
# These keep their own category inside an evaluation phase: they are not the evaluation's work.
_OWN_IN_EVALUATION = frozenset({"gc", "checkpoint", "compile"})
_LOADER_EVENTS = frozenset({EventKind.FETCH, EventKind.LOADER_ITER, EventKind.EPOCH_END})
_DETAILS = frozenset(
    {EventKind.FETCH, EventKind.FORWARD, EventKind.BACKWARD, EventKind.OPTIMIZER, EventKind.ZERO_GRAD}
    | {EventKind.SYNC, EventKind.HOST_TO_DEVICE, EventKind.COMMUNICATION}
)
_TRAINING, _GRAD_ENABLED = 1, 2


class Span(NamedTuple):
    """Some time that belongs to one category."""

    start_ns: int
    end_ns: int
    category: Category


def spans_of(events: Sequence[Event], steps: Steps) -> list[Span]:
    """Return the run from its first step to its last, cut so that one category owns each instant; gaps are left out.

    It is the dear part of everything here: who asks several times makes it once and hands it on as `spans`.
    """
    ordered = _of_training(events)
    nested, categories = _spans(ordered)
    host = _exclusive(nested, steps.start_ns, steps.ends_ns[-1])
    device = _device_spans(ordered, categories)
    if not device:
        return host
    device = _exclusive(device, steps.start_ns, steps.ends_ns[-1])
    left = outside([span[:2] for span in host], [span[:2] for span in device])
    return sorted([*device, *(Span(start, end, host[index].category) for start, end, index in left)])


def host_spans_of(events: Sequence[Event], steps: Steps) -> list[Span]:
    """As `spans_of`, of what the host alone did: how long it took to start the device's work, and where it waited for the device."""
    return _exclusive(_spans(_of_training(events))[0], steps.start_ns, steps.ends_ns[-1])


def account(
    events: Sequence[Event],
    steps: Steps,
    *,
    spans: Sequence[Span] | None = None,
    named_gap_share: float = 0.0,
    gap_shares: Mapping[Category, float] | None = None,
) -> Ledger:
    """Return the ledger of the steady steps (from the end of warm-up to the end of the last step).

    `gap_shares`, 0 to 1: of the stack samples taken outside all events, what share is of which category, the rest having no name.
    `named_gap_share`: the same where it is all "python".
    The categories sum to the wall time exactly; event order does not matter; times may be shifted and scaled.
    """
    shares: Mapping[Category, float] = {"python": named_gap_share, **(gap_shares or {})}
    if not all(0.0 <= share <= 1.0 for share in shares.values()) or sum(shares.values()) > 1.0 + 1e-9:
        raise ValueError(f"shares of the gaps are {dict(shares)}, not between 0 and 1 alone and together")
    mine = _of_training(events)
    first = steps.ends_ns[steps.warmup - 1] if steps.warmup else steps.start_ns
    last = steps.ends_ns[-1]
    totals: dict[str, int] = dict.fromkeys(CATEGORIES, 0)
    exclusive = _within(spans_of(events, steps) if spans is None else spans, first, last)
    for span in exclusive:
        totals[span.category] += span.end_ns - span.start_ns
    gap = (last - first) - sum(totals.values())
    filled = _filled(events, mine, steps, exclusive)
    gap += filled.pop("gap", 0) - filled.pop("uncovered", 0)
    for category, amount in filled.items():
        totals[category] += amount
    left = gap
    for category, share in shares.items():
        part = min(left, round(gap * share))
        totals[category] += part
        left -= part
    totals["unknown"] += left
    return Ledger(wall_ns=last - first, steps=steps.count - steps.warmup, categories_ns=totals)


def _within(spans: Sequence[Span], first_ns: int, last_ns: int) -> list[Span]:
    """Return the disjoint `spans` as far as they lie between two times."""
    return [
        Span(max(span.start_ns, first_ns), min(span.end_ns, last_ns), span.category)
        for span in spans
        if span.end_ns > first_ns and span.start_ns < last_ns
    ]


def categories_in(spans: Sequence[Span], stretches: Sequence[Stretch]) -> list[Counter[str]]:
    """Return the nanoseconds per category of `spans_of` a run in each of the disjoint `stretches` (in time order), gaps left out."""
    return _each_within(spans, stretches)


def account_by_step(spans: Sequence[Span], steps: Steps) -> list[Counter[str]]:
    """Return the nanoseconds per category of each steady step; what no event covers is "unknown", in pauses nearly all."""
    stretches = steps.stretches[steps.warmup :]
    found = categories_in(spans, stretches)
    for (start, end), counts in zip(stretches, found, strict=True):
        counts["unknown"] = end - start - sum(counts.values())
    return found


def median_by_step(spans: Sequence[Span], events: Sequence[Event], steps: Steps) -> dict[Category, int]:
    """Return the median nanoseconds per category over the steady steps that were seen in detail; {} where none was.

    Medians do not sum to the median step: work that comes back every so many steps has a median of nothing.
    """
    pauses = find_pauses(sorted(events, key=lambda event: event.start_ns))
    seen = [
        counts
        for (start, end), counts in zip(steps.stretches[steps.warmup :], account_by_step(spans, steps), strict=True)
        if not is_inside(start, end, pauses)
    ]
    if not seen:
        return {}
    return {category: round(statistics.median(counts[category] for counts in seen)) for category in CATEGORIES}


def _filled(
    events: Sequence[Event], ordered: Sequence[Event], steps: Steps, exclusive: Sequence[Span]
) -> dict[str, int]:
    """Return what the "uncovered" nanoseconds in pauses, in no event, are taken to be made of: by category, and "gap"."""
    first, last = steps.ends_ns[steps.warmup - 1] if steps.warmup else steps.start_ns, steps.ends_ns[-1]
    pauses = [
        (max(start, first), min(end, last)) for start, end in find_pauses(ordered) if start < last and end > first
    ]
    if not pauses:
        return {}
    parts = parts_in(pauses, steps)
    covered = _each_within(exclusive, parts)
    uncovered = [end - start - sum(inside.values()) for (start, end), inside in zip(parts, covered, strict=True)]
    evaluations = [(span.start_ns, span.end_ns) for span in exclusive if span.category == "evaluation"]
    edges = any(
        event.kind is EventKind.LOADER_ITER and is_inside(event.start_ns, event.start_ns + 1, pauses)
        for event in events
    )
    plain = plain_steps(ordered, steps, pauses=pauses, evaluations=evaluations, edges=edges)
    pattern = sum(_each_within(exclusive, plain), Counter())
    pattern["gap"] = _length(plain) - sum(pattern.values())
    for always in ("gc", "logging"):  # recorded in pauses too
        pattern.pop(always, None)
    filled = fill(plain=plain, pattern=pattern, uncovered_ns=uncovered)
    filled["unknown"] = filled.get("unknown", 0) + sum(uncovered) - sum(filled.values())
    return {**filled, "uncovered": sum(uncovered)}


def _of_training(events: Sequence[Event]) -> list[Event]:
    """Return the training thread's events and all marks by start, outer first, less the details that pauses hold.

    Those are of hooks that could not be taken away; they are few or all, and `fill` makes up for them.
    """
    thread = training_thread(events)
    mine = sorted(
        (event for event in events if event.thread == thread or event.kind is EventKind.MARK),
        key=lambda event: (event.start_ns, -event.end_ns),
    )
    pauses = find_pauses(mine)
    if not pauses:
        return mine
    return [
        event
        for event in mine
        if event.kind not in _DETAILS
        or event.start_ns == event.end_ns
        or not is_inside(event.start_ns, event.start_ns + 1, pauses)
    ]


def _length(stretches: Sequence[Stretch]) -> int:
    return sum(end - start for start, end in stretches)


def _each_within(spans: Sequence[Span], stretches: Sequence[Stretch]) -> list[Counter[str]]:
    """Nanoseconds per category of disjoint `spans` that lie in each of the disjoint `stretches`, both in time order."""
    found: list[Counter[str]] = []
    at = 0
    for start, end in stretches:
        inside: Counter[str] = Counter()
        while at < len(spans) and spans[at].end_ns <= start:
            at += 1
        index = at
        while index < len(spans) and spans[index].start_ns < end:
            span = spans[index]
            inside[span.category] += min(span.end_ns, end) - max(span.start_ns, start)
            index += 1
        found.append(inside)
    return found


def _spans(ordered: Sequence[Event]) -> tuple[list[Span], dict[tuple[EventKind, int], Category]]:
    """Events as spans that may nest, with phases (evaluation, loss) added as outer spans; and each event's category by kind and start."""
    trains = training_loaders(ordered)
    goes_backward = any(event.kind is EventKind.BACKWARD for event in ordered)
    phases = [*_evaluation_phases(ordered, trains, goes_backward), *(_loss_spans(ordered) if goes_backward else ())]
    phase_at = iter(sorted(span for span in phases if span.category == "evaluation"))
    phase = next(phase_at, None)
    spans: list[Span] = list(phases)
    categories: dict[tuple[EventKind, int], Category] = {}
    for event in ordered:
        category = _CATEGORY_OF.get(event.kind)
        if category is None or event.end_ns <= event.start_ns:
            continue
        while phase is not None and phase.end_ns <= event.start_ns:
            phase = next(phase_at, None)
        if phase is not None and phase.start_ns <= event.start_ns and category not in _OWN_IN_EVALUATION:
            category = "evaluation"
        categories[event.kind, event.start_ns] = category
        spans.append(Span(event.start_ns, event.end_ns, category))
    return sorted(spans, key=lambda span: (span.start_ns, -span.end_ns)), categories


def _device_spans(ordered: Sequence[Event], categories: Mapping[tuple[EventKind, int], Category]) -> list[Span]:
    """Return what the device worked on, disjoint and in time order; what it does between a forward and its backward is the loss."""
    spans: list[Span] = []
    before: EventKind | None = None
    for work in device_work(ordered):
        category = categories.get((work.kind, work.host_start_ns), _CATEGORY_OF[work.kind])
        if before is EventKind.FORWARD and work.kind is EventKind.BACKWARD and spans[-1].category == "forward":
            spans[-1] = spans[-1]._replace(end_ns=max(spans[-1].end_ns, work.start_ns))
        spans.append(Span(work.start_ns, work.end_ns, category))
        before = work.kind
    return spans


def _evaluation_phases(ordered: Sequence[Event], trains: frozenset[int], goes_backward: bool) -> list[Span]:
    """Stretches from the first to the last event of evaluating, with no training event in between.

    Evaluating is what asks a loader that does not feed training, and a forward without gradients of a module that is trained at other
    times and is in evaluation mode now. Forwards without gradients otherwise are part of training: a teacher, a frozen backbone, a
    generator that makes samples for its critic, a policy that acts. A forward with gradients enabled does not end a stretch: many
    programs evaluate without no_grad.
    """
    if not goes_backward:
        return []
    trained = {
        event.arg for event in ordered if event.kind is EventKind.FORWARD and event.flags == _GRAD_ENABLED | _TRAINING
    }
    phases: list[Span] = []
    start: int | None = None
    end = 0
    for event in ordered:
        loader = event.kind in _LOADER_EVENTS
        if (loader and event.arg not in trains) or (
            event.kind is EventKind.FORWARD and not event.flags and event.arg in trained
        ):
            start = event.start_ns if start is None else start
            end = event.end_ns
        elif loader or event.kind in (EventKind.BACKWARD, EventKind.OPTIMIZER):
            if start is not None and end > start:
                phases.append(Span(start, end, "evaluation"))
            start = None
    if start is not None and end > start:
        phases.append(Span(start, end, "evaluation"))
    return phases


def _loss_spans(ordered: Sequence[Event]) -> list[Span]:
    """From the end of a forward with gradients to the start of the next backward, if nothing but the loss can lie between."""
    spans: list[Span] = []
    forward_end: int | None = None
    for event in ordered:
        if event.kind is EventKind.FORWARD and event.flags & _GRAD_ENABLED:
            forward_end = max(forward_end or 0, event.end_ns)
        elif event.kind is EventKind.BACKWARD:
            if forward_end is not None and event.start_ns > forward_end:
                spans.append(Span(forward_end, event.start_ns, "forward"))
            forward_end = None
        elif event.kind in (EventKind.FETCH, EventKind.OPTIMIZER, EventKind.CHECKPOINT):
            forward_end = None
    return spans


def _exclusive(spans: Sequence[Span], first_ns: int, last_ns: int) -> list[Span]:
    """Cut nested or overlapping spans (sorted by start, outer first) so that the innermost, latest-started one owns each instant."""
    result: list[Span] = []
    stack: list[Span] = []
    at = first_ns

    def emit(until: int, span: Span) -> None:
        nonlocal at
        start, end = max(at, first_ns, span.start_ns), min(until, last_ns, span.end_ns)
        if end > start:
            result.append(Span(start, end, span.category))
            at = end

    for span in spans:
        while stack and stack[-1].end_ns <= span.start_ns:
            done = stack.pop()
            emit(done.end_ns, done)
        if stack:
            emit(span.start_ns, stack[-1])
        at = max(at, min(span.start_ns, last_ns))
        stack.append(span)
    while stack:
        done = stack.pop()
        emit(done.end_ns, done)
    return result
