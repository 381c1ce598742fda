"""The search of `pitstop fit`: which batch sizes to try, and which of those that fit is the fastest. Pure: observations in, an action out.

Finding: the program's own batch, then halves of it until one fits, then the sizes between by bisection, so that the largest that
fits is known where memory rises with the batch; whether one fits is decided by its own trial and never by a model of its memory.
Timing: the largest that fits and a few smaller ones by turns, forwards and backwards, so that a drift of the machine cancels.
Confirming: the best two in pairs, until one is faster or both are equivalent; then the one that needs less memory. Comparing:
pairs of the choice and the program's own batch, where that runs at all.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

import msgspec

from pitstop.records import VerdictKind
from pitstop.stats.decide import Decision, decide
from pitstop.stats.sequential import Plan

__all__ = [
    "Done",
    "Fit",
    "FitOptions",
    "FitPhase",
    "Tried",
    "Try",
    "candidates",
    "ladder",
    "largest_fitting",
    "next_try",
    "usable",
]

# A peak up to this share of the limit counts as fitting: allocators round up and fragment, and later batches may be longer. Servers that size
# themselves by memory leave as much (the default of vLLM's gpu_memory_utilization is 0.9).
HEADROOM = 0.9
_MOST_TIMED = 4
_DOUBLINGS = 6
_ROUNDS = 2
_CLEARLY_SLOWER = 1.25  # after screening: beyond any noise that pairs would not show at once
_PLAN = Plan(looks=(3, 5, 8))
_COMPARED_PAIRS = 3

FitPhase = Literal["finding", "timing", "confirming", "comparing"]


class Fit(StrEnum):
    """How a trial of one batch size ended."""

    FITS = "fits"
    TIGHT = "tight"  # it ran, with more of the limit in use than is safe
    OUT_OF_MEMORY = "out-of-memory"
    FAILED = "failed"  # for another reason


class FitOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is searched. `sizes` rise; `own` is the program's batch and one of them. `reference`: the limit can be lifted for the own batch."""

    sizes: tuple[int, ...]
    own: int
    budget_ns: int
    margin: float = 0.02
    reference: bool = True


class Tried(msgspec.Struct, frozen=True, kw_only=True, tag="fit", tag_field="kind"):
    """One trial. `lifted`: it ran without the memory limit. `ns_per_sample` is None where it came to no steps."""

    batch: int
    outcome: Fit
    phase: FitPhase
    lifted: bool = False
    peak_bytes: int | None = None
    peak_device_bytes: int | None = None
    ns_per_sample: float | None = None
    wall_ns: int = 0
    detail: str = ""


class Try(msgspec.Struct, frozen=True, kw_only=True):
    """Run the program with this batch."""

    batch: int
    phase: FitPhase
    lifted: bool = False


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """The end. `batch` None: nothing fits. `rival` and `decision`: how the choice was confirmed, as rival's time / choice's.

    `against_own`: time of the program's own batch / that of the choice, `own_lifted` where it ran without the limit.
    """

    batch: int | None
    tight: bool = False
    rival: int | None = None
    decision: Decision | None = None
    against_own: Decision | None = None
    own_lifted: bool = False
    out_of_budget: bool = False


def ladder(own: int, *, larger: bool = False) -> tuple[int, ...]:
    """Return the sizes worth a trial: the divisors of `own`, with which accumulation keeps the batch exactly; `larger`: doublings too."""
    divisors = tuple(size for size in range(1, own + 1) if own % size == 0)
    return (*divisors, *(own << power for power in range(1, _DOUBLINGS + 1))) if larger else divisors


def next_try(tried: Sequence[Tried], options: FitOptions) -> Try | Done:
    """Return what to do after these trials, oldest first."""
    spent = sum(one.wall_ns for one in tried)
    action = _finding(tried, options) or _timing(tried, options) or _confirming(tried, options)
    if action is None:
        action = _comparing(tried, options)
    if isinstance(action, Try) and tried and spent + _cost_ns(tried) > options.budget_ns:
        return _done(tried, options, out_of_budget=True)
    return action or _done(tried, options)


def usable(tried: Sequence[Tried]) -> tuple[int, ...]:
    """Return the sizes of which every trial under the limit fitted, rising; those that were tight once are not among them."""
    bad = {one.batch for one in tried if not one.lifted and one.outcome is not Fit.FITS}
    return tuple(sorted({one.batch for one in tried if not one.lifted and one.outcome is Fit.FITS} - bad))


def largest_fitting(tried: Sequence[Tried]) -> int | None:
    """Return the largest usable size, None where there is none."""
    return max(usable(tried), default=None)


def candidates(tried: Sequence[Tried], options: FitOptions) -> tuple[int, ...]:
    """Return the sizes to time, falling: the largest that fits, and those near its half, quarter and eighth."""
    top = largest_fitting(tried)
    if top is None:
        return ()
    bad = {one.batch for one in tried if not one.lifted and one.outcome is not Fit.FITS}
    chosen = [top]
    for size in reversed(options.sizes):
        if size * 2 <= chosen[-1] and size not in bad and len(chosen) < _MOST_TIMED:
            chosen.append(size)
    return tuple(chosen)


def _cost_ns(tried: Sequence[Tried]) -> int:
    return max(one.wall_ns for one in tried[-4:])


def _finding(tried: Sequence[Tried], options: FitOptions) -> Try | None:
    """Own batch, halves until one fits, then bisection between the largest that fits and the smallest above it that does not."""
    outcomes = {one.batch: one.outcome for one in tried if not one.lifted}
    if options.own not in outcomes:
        return Try(batch=options.own, phase="finding")
    fitting = largest_fitting(tried)
    failing = [size for size in options.sizes if size in outcomes and outcomes[size] is not Fit.FITS]
    if fitting is None:
        low = min(failing)
        below = [size for size in options.sizes if size < low]
        if not below:
            return None
        return Try(batch=min(below, key=lambda size: abs(math.log(2 * size / low))), phase="finding")
    above = [size for size in failing if size > fitting]
    between = [size for size in options.sizes if fitting < size < min(above, default=fitting) and size not in outcomes]
    if between:
        return Try(batch=between[len(between) // 2], phase="finding")
    larger = [size for size in options.sizes if size >= 2 * fitting]
    if not above and larger:
        return Try(batch=larger[0], phase="finding")
    return None


def _timing(tried: Sequence[Tried], options: FitOptions) -> Try | None:
    """Return the next run of the rounds: falling sizes, then rising ones."""
    chosen = candidates(tried, options)
    if len(chosen) < 2:
        return None
    done = {size: len(_times(tried, size, "timing")) for size in chosen}
    for turn in range(_ROUNDS):
        for size in chosen if turn % 2 == 0 else chosen[::-1]:
            if done[size] <= turn:
                return Try(batch=size, phase="timing")
    return None


def _confirming(tried: Sequence[Tried], options: FitOptions) -> Try | None:
    """Return the next run of the pairs of the best two, None where they are decided."""
    best, rival = _best_two(tried, options)
    if best is None or rival is None or _decided(tried, best, rival, options) is not None:
        return None
    mine, theirs = (_times(tried, size, "confirming") for size in (best, rival))
    if len(mine) == len(theirs):  # A B, B A, A B ...
        return Try(batch=best if len(mine) % 2 == 0 else rival, phase="confirming")
    return Try(batch=rival if len(theirs) < len(mine) else best, phase="confirming")


def _comparing(tried: Sequence[Tried], options: FitOptions) -> Try | None:
    """Return the next run of the pairs of the choice and the program's own batch."""
    choice = _choice(tried, options)
    lifted = options.own not in usable(tried)
    if choice is None or choice == options.own or (lifted and not options.reference):
        return None
    if any(one.lifted and one.outcome not in (Fit.FITS, Fit.TIGHT) for one in tried):
        return None
    mine, own = _times(tried, choice, "comparing"), _times(tried, options.own, "comparing", lifted=lifted)
    if min(len(mine), len(own)) >= _COMPARED_PAIRS:
        return None
    own_next = len(own) < len(mine) or (len(own) == len(mine) and len(own) % 2 == 0)
    # The own batch first: whether it runs at all without the limit is known then.
    if own_next:
        return Try(batch=options.own, phase="comparing", lifted=lifted)
    return Try(batch=choice, phase="comparing")


def _times(tried: Sequence[Tried], batch: int, phase: FitPhase, *, lifted: bool = False) -> list[float]:
    return [
        one.ns_per_sample
        for one in tried
        if one.batch == batch and one.phase == phase and one.lifted == lifted and one.ns_per_sample is not None
    ]


def _best_two(tried: Sequence[Tried], options: FitOptions) -> tuple[int | None, int | None]:
    """Return the fastest two by screening; the second is None where it is clearly slower. Order never depends on later pairs."""
    fits = set(usable(tried))
    means = {
        size: math.exp(math.fsum(map(math.log, times)) / len(times))
        for size in candidates(tried, options)
        if size in fits and (times := _times(tried, size, "timing"))
    }
    ranked = sorted(means, key=lambda size: (means[size], size))
    if not ranked:
        return largest_fitting(tried), None
    best = ranked[0]
    rival = ranked[1] if len(ranked) > 1 and means[ranked[1]] <= _CLEARLY_SLOWER * means[best] else None
    return best, rival


def _ratios(tried: Sequence[Tried], mine: int, other: int, phase: FitPhase, *, lifted: bool = False) -> list[float]:
    pairs = zip(_times(tried, mine, phase), _times(tried, other, phase, lifted=lifted), strict=False)
    return [math.log(theirs / ours) for ours, theirs in pairs]


def _decided(tried: Sequence[Tried], best: int, rival: int, options: FitOptions) -> Decision | None:
    """Return the decision once there is one, or after the last look; None while pairs are still to be made."""
    ratios = _ratios(tried, best, rival, "confirming")
    for look, pairs in enumerate(_PLAN.looks):
        if len(ratios) < pairs:
            return None
        found = decide(ratios[:pairs], plan=_PLAN, look=look, margin=options.margin)
        if found.kind is not VerdictKind.UNDECIDED or pairs == _PLAN.looks[-1]:
            return found
    return None


def _choice(tried: Sequence[Tried], options: FitOptions) -> int | None:
    """Return the size to hand over: the faster of the best two, the one with less memory where neither is."""
    best, rival = _best_two(tried, options)
    if best is None:
        tight = [one.batch for one in tried if not one.lifted and one.outcome is Fit.TIGHT]
        return min(tight, default=None)
    found = _decided(tried, best, rival, options) if rival is not None else None
    if rival is None or found is None or found.kind is VerdictKind.FASTER:
        return best
    if found.kind is VerdictKind.SLOWER:
        return rival
    if found.kind is VerdictKind.EQUIVALENT:
        return min((best, rival), key=lambda size: (_peak(tried, size), size))
    return best if found.speedup > 1 else rival


def _peak(tried: Sequence[Tried], batch: int) -> int:
    own = [one for one in tried if one.batch == batch and not one.lifted]
    device = max((one.peak_device_bytes or 0 for one in own), default=0)
    return device or max((one.peak_bytes or 0 for one in own), default=0)


def _done(tried: Sequence[Tried], options: FitOptions, *, out_of_budget: bool = False) -> Done:
    choice = _choice(tried, options)
    best, rival = _best_two(tried, options)
    decision = _decided(tried, best, rival, options) if best is not None and rival is not None else None
    other = rival if choice == best else best
    if decision is not None and choice != best:  # told from the choice's side
        low, high = decision.ci
        kind = {VerdictKind.FASTER: VerdictKind.SLOWER, VerdictKind.SLOWER: VerdictKind.FASTER}.get(
            decision.kind, decision.kind
        )
        decision = msgspec.structs.replace(decision, kind=kind, speedup=1 / decision.speedup, ci=(1 / high, 1 / low))
    lifted = options.own not in usable(tried)
    against = None
    if choice is not None and choice != options.own:
        ratios = _ratios(tried, choice, options.own, "comparing", lifted=lifted)
        if len(ratios) >= 2:
            against = decide(ratios, plan=Plan(looks=(len(ratios),)), look=0, margin=options.margin)
    return Done(
        batch=choice,
        tight=choice is not None and choice not in usable(tried),
        rival=other if decision is not None else None,
        decision=decision,
        against_own=against,
        own_lifted=lifted,
        out_of_budget=out_of_budget,
    )
