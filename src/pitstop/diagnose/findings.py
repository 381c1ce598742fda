"""All rules over one run's facts, the largest ceiling first. A healthy program gets an empty tuple."""

from pitstop.diagnose.rules import RULES, Facts
from pitstop.records import Evidence, Ledger, TreeUsage
from pitstop.records.results import Finding, RankResult

__all__ = ["find_faults"]


def find_faults(
    evidence: Evidence,
    ledger: Ledger,
    train_loaders: frozenset[int],
    usage: TreeUsage,
    *,
    stack_samples: tuple[tuple[str, int], ...] = (),
    micro_steps: int = 1,
    ranks: tuple[RankResult, ...] = (),
) -> tuple[Finding, ...]:
    """Return the findings of every registered rule, ranked by ceiling."""
    facts = Facts(
        evidence=evidence,
        ledger=ledger,
        train_loaders=train_loaders,
        usage=usage,
        stack_samples=stack_samples,
        micro_steps=micro_steps,
        ranks=ranks,
    )
    found = [finding for rule in RULES if (finding := rule.find(facts)) is not None]
    return tuple(sorted(found, key=lambda finding: (-finding.ceiling_speedup, finding.fault)))
