"""The end of a search as values: what was chosen, and one verdict for everything proposed or tried."""

import math

from pitstop.messages import say
from pitstop.records import Proposal, Trial, TrialOutcome, Verdict, VerdictKind
from pitstop.stats.decide import Decision
from pitstop.stats.power import detectable_speedup
from pitstop.stats.screening import ScreenEstimate
from pitstop.tune.search_actions import Finish, Key, NumericsReport
from pitstop.tune.search_budget import budget_that_would_do_ns
from pitstop.tune.search_ceilings import single_ceiling
from pitstop.tune.search_confirming import Confirming, Finalist, winner
from pitstop.tune.search_facts import Facts, Table, numerics_of
from pitstop.tune.search_gating import excluded_by_gates, gated, report_on
from pitstop.tune.search_length import outrun
from pitstop.tune.search_screening import passed_over

__all__ = ["finish"]

_FAILED = {
    TrialOutcome.CRASHED: "search.crashed",
    TrialOutcome.HUNG: "search.hung",
    TrialOutcome.OUT_OF_MEMORY: "search.out_of_memory",
    TrialOutcome.NOT_FINITE: "search.not_finite",
    TrialOutcome.TOO_FEW_STEPS: "search.too_few_steps",
    TrialOutcome.NOT_CONNECTED: "search.not_connected",
    TrialOutcome.COULD_NOT_ACT: "search.could_not_act",
    TrialOutcome.MEASURED: "search.too_few_steps",  # measured, yet without a window
}
_OUT_OF_BUDGET = frozenset(
    {"search.budget_in_screening", "search.budget_before_check", "search.budget_before_confirmation"}
)
_CUT_SHORT = frozenset({"search.busy", "search.baseline_failed"})  # ends that have nothing to do with the time budget
_CLEAR = 2.0  # standard errors
_MIB = 1 << 20


def finish(facts: Facts, table: Table, *, why: str, confirmed: Confirming | None) -> Finish:
    """Return the result. `why` is the catalogue key of how it ended."""
    won = winner(confirmed) if confirmed else None
    decision = won.decision if won else None
    chosen = won.key if won else ()
    report = report_on(gated(chosen, proposals=facts.proposals), facts=facts) if chosen else None
    undecided = [
        one.decision.further_pairs
        for one in (confirmed.finalists if confirmed else ())
        if one.decision and one.decision.kind is VerdictKind.UNDECIDED and one.decision.further_pairs
    ]
    return Finish(
        chosen=chosen,
        speedup=decision.speedup if decision else 1.0,
        ci=decision.ci if decision else None,
        pairs=decision.pairs if decision else 0,
        numerics=numerics_of(chosen, proposals=facts.proposals),
        gates=report.gates if report else (),
        verdicts=_verdicts(facts, table, why=why, confirmed=confirmed, chosen=chosen),
        reason=_reason(facts, table, why, chosen=chosen),
        further_pairs=min(undecided) if undecided and not chosen else None,
        trials=len(facts.trials),
        invalid_trials=sum(1 for trial in facts.trials if trial.outcome is TrialOutcome.BUSY),
        spent_ns=facts.spent_ns,
    )


def _reason(facts: Facts, table: Table, why: str, *, chosen: Key) -> str:
    if why == "search.baseline_failed":
        failed = next(trial for trial in reversed(facts.trials) if not trial.proposals)
        return say(why, how=_failure(failed))
    if why == "search.done":
        return say("search.confirmed" if chosen else "search.not_confirmed", margin=f"{facts.options.margin:.0%}")
    if why == "search.too_short":
        return say(why, steps=facts.length.steps)
    if why in _OUT_OF_BUDGET and not chosen:
        minutes = math.ceil(budget_that_would_do_ns(facts, table) / 60e9)
        return say("search.with_more", why=say(why), minutes=minutes)
    return say(why)


def _verdicts(
    facts: Facts, table: Table, *, why: str, confirmed: Confirming | None, chosen: Key
) -> tuple[Verdict, ...]:
    finalists = {one.key: one for one in (confirmed.finalists if confirmed else ())}
    singles = [(proposal.name,) for proposal in facts.proposals]
    sets = {key for key in (*table.runs, *(report.proposals for report in facts.reports), *finalists) if len(key) > 1}
    unsafe, forbidden = excluded_by_gates(facts)
    late = outrun(facts, table, unsafe=unsafe, forbidden=forbidden)
    verdicts = []
    for key in (*singles, *sorted(sets)):
        finalist = finalists.get(key)
        report = report_on(key, facts=facts)
        kind, reason = _judge(key, facts=facts, table=table, finalist=finalist, report=report, chosen=chosen)
        if kind is VerdictKind.FASTER and finalist is None and (members := unsafe & set(key)):
            kind, reason = VerdictKind.UNSAFE, say("search.unsafe_member", names=", ".join(sorted(members)))
        elif kind is VerdictKind.FASTER and finalist is None and math.isfinite(late.get(key, math.inf)):
            after, runs = round(late[key]), table.estimates[key].runs
            reason = say("search.too_late", after=after, has=facts.length.steps, runs=runs)
        if kind is None:
            kind, reason = VerdictKind.UNDECIDED, _not_tried(key, facts=facts, table=table, why=why)
        estimate = table.estimates.get(key)
        decision = finalist.decision if finalist else None
        verdicts.append(
            Verdict(
                treatments=key,
                numerics=numerics_of(key, proposals=facts.proposals),
                verdict=kind,
                speedup=decision.speedup if decision else estimate.speedup if estimate else None,
                ci=decision.ci if decision else None,
                predicted=_predicted(key, facts=facts, table=table),
                pairs=decision.pairs if decision else 0,
                stage="confirm" if decision else "screen",
                gates=report.gates if report else (),
                extra_peak_bytes=table.extra_bytes.get(key),
                reason=reason,
            )
        )
    return tuple(verdicts)


def _judge(
    key: Key,
    *,
    facts: Facts,
    table: Table,
    finalist: Finalist | None,
    report: NumericsReport | None,
    chosen: Key,
) -> tuple[VerdictKind | None, str]:
    """Kind and reason, the gravest fact first: failed gate, failed run, confirmed, needs memory, screened; None if not tried."""
    if report is not None and report.outcome != "passed":
        # Nobody knows whether the results of what could not be checked change: it is not handed over, and not accused.
        kind = VerdictKind.UNSAFE if report.outcome == "failed" else VerdictKind.UNDECIDED
        return kind, _gate_reason(report)
    failure = (finalist.failure if finalist else None) or table.failures.get(key)
    if failure is not None:
        kind = VerdictKind.UNSAFE if failure.outcome is TrialOutcome.NOT_FINITE else VerdictKind.INVALID
        return kind, _failure(failure)
    if finalist and finalist.decision:
        decision = finalist.decision
        if decision.kind is not VerdictKind.UNDECIDED:
            return decision.kind, say("search.in_confirmation", pairs=decision.pairs)
        found = _would_have_found(decision, facts=facts)
        if decision.further_pairs:
            return decision.kind, say(
                "search.more_pairs", pairs=decision.pairs, more=decision.further_pairs, found=found
            )
        return decision.kind, say("search.no_pairs_would_do", pairs=decision.pairs, found=found)
    estimate = table.estimates.get(key)
    if estimate is not None:
        kind = _screened(estimate, facts=facts)
        if key in table.over_memory:
            more = table.extra_bytes.get(key, 0)
            return kind, say("search.needs_memory", more=f"{more / _MIB:.0f} MiB")
        if key != chosen and set(key) <= set(chosen):
            return kind, say("search.part_of_chosen", runs=estimate.runs)
        return kind, say("search.screened", runs=estimate.runs)
    if table.busy.get(key):
        return VerdictKind.INVALID, say("search.always_busy", times=table.busy[key])
    return None, ""


def _screened(estimate: ScreenEstimate, *, facts: Facts) -> VerdictKind:
    """Return what screening suggests; the verdict's stage says that it is no claim."""
    edge = math.log1p(facts.options.margin)
    low = estimate.log_ratio - _CLEAR * estimate.standard_error
    high = estimate.log_ratio + _CLEAR * estimate.standard_error
    if low > edge:
        return VerdictKind.FASTER
    if high < -edge:
        return VerdictKind.SLOWER
    return VerdictKind.EQUIVALENT if -edge < low and high < edge else VerdictKind.UNDECIDED


def _would_have_found(decision: Decision, *, facts: Facts) -> str:
    """Return the smallest gain that these pairs, with this noise, would have shown with the wanted power."""
    options = facts.options
    gain = detectable_speedup(
        pairs=decision.pairs, sd=decision.sd, margin=options.margin, alpha=decision.alpha, power=options.power
    )
    return f"{(gain or math.inf) - 1:.1%}"


def _failure(trial: Trial) -> str:
    return say(_FAILED[trial.outcome], detail=trial.detail or "-")


def _gate_reason(report: NumericsReport) -> str:
    if report.outcome == "not-made":
        missing = next((gate.detail for gate in report.gates if gate.passed is None), "-")
        return say("search.gate_not_made", detail=missing or "-")
    return say("search.gate_failed", gates=", ".join(gate.name for gate in report.gates if gate.passed is False) or "-")


def _not_tried(key: Key, *, facts: Facts, table: Table, why: str) -> str:
    proposal: Proposal = next(one for one in facts.proposals if one.name == key[0])
    match passed_over(proposal, facts=facts, table=table) if len(key) == 1 else None:
        case "ceiling":
            return say("search.ceiling", ceiling=f"{proposal.ceiling:.2f}", margin=f"{facts.options.margin:.0%}")
        case "measured-ceiling":
            ceiling, what = single_ceiling(proposal, facts=facts, table=table)
            return say(f"search.ceiling_by_{what}", ceiling=f"{ceiling:.2f}")
        case "slower-rung":
            return say("search.slower_rung")
        case "failed-rungs":
            return say("search.failed_rungs")
        case _ if on_top := _on_top(key[0], table=table):
            others, ratio = on_top
            return say("search.on_top", others=others, ratio=f"{ratio:.2f}")
        case _ if any(set(key) < set(other) for other in table.runs):
            return say("search.only_together")
        case _ if why in _CUT_SHORT:
            return say("search.cut_short")
        case _:
            return say("search.not_tried")


def _on_top(name: str, *, table: Table) -> tuple[int, float] | None:
    """Return on top of how many others the proposal was screened, the most of them, and how fast the set then was against these alone."""
    found = [
        (len(key) - 1, estimate.speedup / without.speedup)
        for key, estimate in table.estimates.items()
        if name in key and (without := table.estimates.get(tuple(one for one in key if one != name))) is not None
    ]
    return max(found, default=None)


def _predicted(key: Key, *, facts: Facts, table: Table) -> tuple[float, float] | None:
    """From nothing to the ceiling, for a single proposal whose ceiling is known from the ledger or an intervention."""
    if len(key) != 1:
        return None
    proposal = next(one for one in facts.proposals if one.name == key[0])
    ceiling, _what = single_ceiling(proposal, facts=facts, table=table)
    return None if math.isinf(ceiling) else (1.0, ceiling)
