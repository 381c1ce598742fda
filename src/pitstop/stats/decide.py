"""From paired log ratios to a verdict: faster, equivalent, slower or undecided, with what would decide.

One rule everywhere: *faster* when the lower end of the (repeated) 1 - alpha interval is above 1 + margin, *slower*
when the upper end is below 1 / (1 + margin), *equivalent* when two one-sided tests at alpha (the 1 - 2 alpha interval) lie
within both, else *undecided*. The chance of a false "faster" is thus at most alpha / 2 per claim, over all looks.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from pitstop.records import VerdictKind
from pitstop.stats.paired import PairedEstimate, estimate
from pitstop.stats.power import pairs_to_show_equivalent, pairs_to_show_faster
from pitstop.stats.sequential import Plan, critical_values

__all__ = ["Decision", "compare", "decide", "decide_all"]


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What the pairs say. `ci` is of the speed-up, at level 1 - `alpha`, over all looks.

    `further_pairs`: pairs like these, beyond those made, that decide with the wanted power if the estimate is right;
    0 where decided, None where no sensible number would.
    """

    kind: VerdictKind
    speedup: float
    ci: tuple[float, float]
    pairs: int
    sd: float
    alpha: float
    further_pairs: int | None = 0


def compare(ratios: Sequence[float], *, margin: float = 0.02, alpha: float = 0.05, power: float = 0.8) -> Decision:
    """Decide from a number of pairs that was fixed beforehand. Raises ValueError below two pairs."""
    return decide(ratios, plan=Plan(looks=(len(ratios),), alpha=alpha), look=0, margin=margin, power=power)


def decide(ratios: Sequence[float], *, plan: Plan, look: int, margin: float = 0.02, power: float = 0.8) -> Decision:
    """Decide at one look of a plan. Raises ValueError where the number of ratios is not the look's."""
    if len(ratios) != plan.looks[look]:
        raise ValueError(f"look {look} is at {plan.looks[look]} pairs, not {len(ratios)}")
    pairs = estimate(ratios)
    half = critical_values(plan)[look] * pairs.standard_error
    half_tost = critical_values(msgspec.structs.replace(plan, alpha=2 * plan.alpha))[look] * pairs.standard_error
    kind = _kind(pairs.log_ratio, half=half, half_tost=half_tost, edge=math.log1p(margin))
    return Decision(
        kind=kind,
        speedup=pairs.speedup,
        ci=(math.exp(pairs.log_ratio - half), math.exp(pairs.log_ratio + half)),
        pairs=pairs.pairs,
        sd=pairs.sd,
        alpha=plan.alpha,
        further_pairs=_further(pairs, margin=margin, alpha=plan.alpha, power=power)
        if kind is VerdictKind.UNDECIDED
        else 0,
    )


def decide_all(
    ratios: Mapping[str, Sequence[float]],
    *,
    plan: Plan,
    look: int,
    margin: float = 0.02,
    power: float = 0.8,
    claimed: int = 0,
    among: int | None = None,
) -> dict[str, Decision]:
    """Decide several claims at one look so that any false "faster" among them all has at most alpha / 2 (Holm).

    Starts at alpha / m for all; each claim that holds hands its share to the rest, whose boundaries are computed anew at
    the larger level (Maurer and Bretz, Stat. Biopharm. Res. 5, 2013). `among` is the number of claims planned, where
    some were settled at earlier looks, and `claimed` how many of those were found faster.
    """
    total = among or len(ratios)
    done: dict[str, Decision] = {}
    while True:
        level = plan.alpha / max(1, total - claimed - len(done))
        local = msgspec.structs.replace(plan, alpha=level)
        open_ones = {
            name: decide(values, plan=local, look=look, margin=margin, power=power)
            for name, values in ratios.items()
            if name not in done
        }
        won = {name: one for name, one in open_ones.items() if one.kind is VerdictKind.FASTER}
        if not won:
            return {name: done.get(name) or open_ones[name] for name in ratios}
        done.update(won)


def _kind(log_ratio: float, *, half: float, half_tost: float, edge: float) -> VerdictKind:
    if log_ratio - half > edge:
        return VerdictKind.FASTER
    if log_ratio + half < -edge:
        return VerdictKind.SLOWER
    if -edge < log_ratio - half_tost and log_ratio + half_tost < edge:
        return VerdictKind.EQUIVALENT
    return VerdictKind.UNDECIDED


def _further(pairs: PairedEstimate, *, margin: float, alpha: float, power: float) -> int | None:
    needs = (
        pairs_to_show_faster(pairs.log_ratio, sd=pairs.sd, margin=margin, alpha=alpha, power=power),
        pairs_to_show_faster(-pairs.log_ratio, sd=pairs.sd, margin=margin, alpha=alpha, power=power),
        pairs_to_show_equivalent(pairs.log_ratio, sd=pairs.sd, margin=margin, alpha=alpha, power=power),
    )
    least = min((need for need in needs if need is not None), default=None)
    return None if least is None else max(1, least - pairs.pairs)
