"""Numerics gates in the search: a failing set is taken apart until the member at fault is known."""

from collections.abc import Generator

from pitstop.records import Numerics, Proposal
from pitstop.tune.search_actions import Key, NumericsReport
from pitstop.tune.search_facts import Facts, numerics_of

__all__ = ["clear", "excluded_by_gates", "gated", "report_on"]

_RISK = tuple(Numerics)


def gated(key: Key, *, proposals: tuple[Proposal, ...]) -> Key:
    """Return the members that have a gate to pass: what changes the training itself is there by the user's consent."""
    free = {proposal.name for proposal in proposals if proposal.numerics is Numerics.TRAINING}
    return tuple(name for name in key if name not in free)


def clear(key: Key, *, facts: Facts) -> Generator[Key, NumericsReport, bool]:
    """Yield the sets to check; the value is whether `key` passed.

    After a failure the members are checked one by one, the riskiest class first, up to the first that fails alone. If
    none does, it is the combination that is at fault.
    """
    key = gated(key, proposals=facts.proposals)
    if not key:
        return True
    report = yield key
    if report.outcome == "passed":
        return True
    if len(key) > 1:
        for name in sorted(key, key=lambda one: -_RISK.index(numerics_of((one,), proposals=facts.proposals))):
            member = yield (name,)
            if member.outcome != "passed":
                return False
    return False


def report_on(key: Key, *, facts: Facts) -> NumericsReport | None:
    """Return the first report on exactly this set."""
    return next((report for report in facts.reports if report.proposals == key), None)


def excluded_by_gates(facts: Facts) -> tuple[frozenset[str], frozenset[Key]]:
    """Return the proposals that failed alone, and the sets that failed together."""
    failed = [report.proposals for report in facts.reports if report.outcome != "passed"]
    return frozenset(key[0] for key in failed if len(key) == 1), frozenset(key for key in failed if len(key) > 1)
