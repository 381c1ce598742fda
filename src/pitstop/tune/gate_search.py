"""Is the head slower than its base? Which of the two runs next, when there is enough, and what follows. Pure.

The runs go base, head, head, base, ... ; two valid ones next to each other are a pair; at a look the pairs decide or go on. A run on a
busy machine is made again in its place. The transitions: `next_side` names a side, `absorb` takes in its trial, until
`next_side` is None; `judge` then says what the pairs there are come to.
"""

import math
from typing import Literal

import msgspec

from pitstop.records import Trial, TrialOutcome, VerdictKind
from pitstop.stats.decide import Decision, compare, decide
from pitstop.stats.paired import log_ratios, order_of_pairs
from pitstop.stats.power import detectable_speedup, power_faster
from pitstop.stats.sequential import Plan
from pitstop.tune.search_facts import log_cost_ratio

__all__ = [
    "BASE",
    "FEWEST_PAIRS",
    "HEAD",
    "GateOptions",
    "GateState",
    "Judgement",
    "MemoryJudgement",
    "absorb",
    "begin",
    "detectable_slowdown",
    "judge",
    "judge_memory",
    "next_side",
    "plan_looks",
]

SideName = Literal["base", "head"]
BASE: SideName = "base"
HEAD: SideName = "head"

FEWEST_PAIRS = 3  # two degrees of freedom: the least that gives an interval of use
MOST_PAIRS = 24
_LOOKS = (0.25, 0.5, 0.75, 1.0)  # of the pairs that the budget has room for
_HOPELESS = 0.05  # chance to find it slower at the last look, if it were one standard error slower than it seems


class GateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate promises. `strict`: undecided is no pass, so that a hopeless comparison goes on to be shown equivalent."""

    margin: float = 0.03
    alpha: float = 0.05  # two-sided, over all looks
    power: float = 0.8
    busy_repeats: int = 3  # how often in a row a run on a busy machine is made again
    strict: bool = False


class GateState(msgspec.Struct, frozen=True, kw_only=True):
    """All trials so far. `half` are the valid runs of the pair under way; `troubled` counts useless runs in a row."""

    looks: tuple[int, ...]
    base: tuple[Trial, ...] = ()
    head: tuple[Trial, ...] = ()
    half: tuple[Trial, ...] = ()
    decision: Decision | None = None
    over: bool = False
    hopeless: bool = False
    troubled: int = 0
    invalid: int = 0
    failure: Trial | None = None

    @property
    def pairs(self) -> int:
        """How many pairs are complete."""
        return len(self.base)

    @property
    def ratios(self) -> tuple[float, ...]:
        """Return log(base / head) of each pair, per sample where both know their samples: below 0 where the head is slower."""
        return tuple(log_cost_ratio(base, head) for base, head in zip(self.base, self.head, strict=True))


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What the pairs say; `kind` of the head against the base. `further_pairs` as in `Decision`."""

    kind: VerdictKind
    speedup: float
    ci: tuple[float, float]
    pairs: int
    further_pairs: int | None
    detectable: float | None  # the least slowdown (head / base time) that would have been found


class MemoryJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """Peak memory of the head against the base's. `ratio` = head / base, with its interval; `worse`: above the margin with certainty."""

    base_bytes: int
    head_bytes: int
    ratio: float
    ci: tuple[float, float]
    worse: bool


def plan_looks(*, left_ns: float, pair_ns: float) -> tuple[int, ...] | None:
    """Return the numbers of pairs to look at, from what time there is and what a pair takes; None where too few fit.

    Nothing of the speeds compared is known yet but what the two cost together, so that looks chosen by it are fixed beforehand.
    """
    room = int(min(MOST_PAIRS, left_ns / max(pair_ns, 1.0)))
    if room < FEWEST_PAIRS:
        return None
    last = room - room % 2 if room > FEWEST_PAIRS else room  # even: drift cancels
    return tuple(sorted({max(FEWEST_PAIRS, _even(last * share)) for share in _LOOKS[:-1]} | {last}))


def begin(looks: tuple[int, ...]) -> GateState:
    """Return the state before the first run."""
    return GateState(looks=looks)


def next_side(state: GateState) -> SideName | None:
    """Return the side to run next, None when all is decided or cannot be."""
    if state.over or state.failure is not None:
        return None
    turn = order_of_pairs(state.pairs + 1)[2 * state.pairs + len(state.half)]
    return HEAD if turn else BASE


def absorb(state: GateState, trial: Trial, *, options: GateOptions) -> GateState:
    """Return the state after one more run of `next_side`."""
    replace = msgspec.structs.replace
    if trial.outcome is TrialOutcome.BUSY:
        troubled = state.troubled + 1
        return replace(state, troubled=troubled, invalid=state.invalid + 1, over=troubled > options.busy_repeats)
    if trial.outcome is not TrialOutcome.MEASURED:
        return replace(state, failure=trial)
    half = (*state.half, trial)
    state = replace(state, half=half, troubled=0)
    if len(half) < 2:
        return state
    first, second = half
    base, head = (first, second) if state.pairs % 2 == 0 else (second, first)
    state = replace(state, base=(*state.base, base), head=(*state.head, head), half=())
    return _look(state, options=options) if state.pairs in state.looks else state


def judge(state: GateState, *, options: GateOptions) -> Judgement | None:
    """Return what the pairs say now; None with fewer than three.

    Where the budget or the machine ended it between two looks there is a last one: spending functions allow a look at any time that
    the ratios did not choose (Lan and DeMets, 1983).
    """
    if state.pairs < FEWEST_PAIRS:
        return None
    found = state.decision
    if found is None or found.pairs != state.pairs:
        looks = tuple(sorted({*state.looks, state.pairs}))
        found = _decide(state, looks, options=options)
    return Judgement(
        kind=found.kind,
        speedup=found.speedup,
        ci=found.ci,
        pairs=found.pairs,
        further_pairs=found.further_pairs,
        detectable=detectable_slowdown(found, options=options),
    )


def detectable_slowdown(found: Decision, *, options: GateOptions) -> float | None:
    """Return the least true slowdown that so many pairs with this noise find with the wanted power."""
    return detectable_speedup(
        pairs=found.pairs, sd=found.sd, margin=options.margin, alpha=options.alpha, power=options.power
    )


def judge_memory(
    base: tuple[int | None, ...], head: tuple[int | None, ...], *, margin: float, alpha: float = 0.05
) -> MemoryJudgement | None:
    """Compare peaks of the same pairs; None where some are not known, or there are fewer than two pairs.

    How many pairs there are was decided by speed, which has no part in this.
    """
    known_base, known_head = [one for one in base if one], [one for one in head if one]
    if len(known_base) < len(base) or len(known_head) < len(head) or len(base) < 2:
        return None
    found = compare(log_ratios(known_base, known_head), margin=margin, alpha=alpha)
    return MemoryJudgement(
        base_bytes=round(math.exp(math.fsum(map(math.log, known_base)) / len(known_base))),
        head_bytes=round(math.exp(math.fsum(map(math.log, known_head)) / len(known_head))),
        ratio=1 / found.speedup,
        ci=(1 / found.ci[1], 1 / found.ci[0]),
        worse=found.kind is VerdictKind.SLOWER,
    )


def _look(state: GateState, *, options: GateOptions) -> GateState:
    found = _decide(state, state.looks, options=options)
    last = state.pairs == state.looks[-1]
    hopeless = not options.strict and not last and _hopeless(found, state.looks[-1], options=options)
    undecided = found.kind is VerdictKind.UNDECIDED
    return msgspec.structs.replace(
        state, decision=found, over=last or hopeless or not undecided, hopeless=hopeless and undecided
    )


def _decide(state: GateState, looks: tuple[int, ...], *, options: GateOptions) -> Decision:
    plan = Plan(looks=looks, alpha=options.alpha)
    return decide(state.ratios, plan=plan, look=looks.index(state.pairs), margin=options.margin, power=options.power)


def _hopeless(found: Decision, pairs: int, *, options: GateOptions) -> bool:
    worst = -math.log(found.speedup) + found.sd / math.sqrt(found.pairs)
    return power_faster(worst, sd=found.sd, pairs=pairs, margin=options.margin, alpha=options.alpha) < _HOPELESS


def _even(value: float) -> int:
    return 2 * round(value / 2)
