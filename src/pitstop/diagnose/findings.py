"""All rules over one run's facts, the largest ceiling first. A healthy program gets an empty tuple.

Here, not in each rule, is the least amount of evidence: of a run too short to tell shares of its time (`pitstop.diagnose.enough`) only
facts are said, without what they cost.
"""

import msgspec

from pitstop.diagnose.enough import is_enough
from pitstop.diagnose.rules import RULES, Facts, Rule
from pitstop.diagnose.rules.contract import Ending
from pitstop.messages import say
from pitstop.records import Evidence, Ledger, TreeUsage
from pitstop.records.results import Finding, RankResult

__all__ = ["find_faults"]

FATAL = "out-of-memory"  # nothing is worth more than coming to the end


def find_faults(
    evidence: Evidence,
    ledger: Ledger,
    train_loaders: frozenset[int],
    usage: TreeUsage,
    *,
    stack_samples: tuple[tuple[str, int], ...] = (),
    micro_steps: int = 1,
    ranks: tuple[RankResult, ...] = (),
    out_of_memory: Ending | None = None,
) -> tuple[Finding, ...]:
    """Return the findings of every registered rule, ranked by ceiling; what ended the run comes first."""
    facts = Facts(
        evidence=evidence,
        ledger=ledger,
        train_loaders=train_loaders,
        usage=usage,
        stack_samples=stack_samples,
        micro_steps=micro_steps,
        ranks=ranks,
        out_of_memory=out_of_memory,
    )
    every = [
        (rule, finding)
        for rule in RULES
        if (ledger.steps or not rule.needs_steps) and (finding := rule.find(facts)) is not None
    ]
    if is_enough(ledger):
        found = [finding for _rule, finding in every]
    else:
        found = [_without_time(finding, rule, ledger) for rule, finding in every if rule.fact is not None]
    return tuple(sorted(found, key=lambda finding: (finding.fault != FATAL, -finding.ceiling_speedup, finding.fault)))


def _without_time(finding: Finding, rule: Rule, ledger: Ledger) -> Finding:
    """Return what is so whatever the clock says; of the gain nothing is promised."""
    if not finding.share and finding.ceiling_speedup == 1.0:
        return finding  # it never promised any
    short = say("profile.short_fact", steps=ledger.steps, wall_ms=ledger.wall_ns / 1e6)
    return msgspec.structs.replace(
        finding,
        title=rule.fact.say() if rule.fact is not None else finding.title,
        share=0.0,
        ceiling_speedup=1.0,
        evidence=(*finding.evidence, short),
        rule_of_thumb="",
    )
