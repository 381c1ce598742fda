"""What a rule is: facts in, at most one finding out."""

from collections.abc import Callable
from typing import Any

import msgspec

from pitstop.diagnose.hot_places import hottest
from pitstop.messages import Text
from pitstop.records import CallSighting, Category, Evidence, Ledger, Site, TreeUsage
from pitstop.records.results import Finding, RankResult

__all__ = ["Ending", "Facts", "Rule", "ceiling", "finding", "place"]


_OPTIONAL_WORDS = ("rule_of_thumb", "picture", "question", "reference")


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended that ran out of memory: the last error, its peak (resident, proportional where known), and who ended it."""

    error: str = ""
    by_system: bool = False  # the kernel or a limit, from outside; else the program's own request was refused
    peak_bytes: int | None = None
    peak_device_bytes: int | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a rule may look at."""

    evidence: Evidence
    ledger: Ledger
    train_loaders: frozenset[int]
    usage: TreeUsage
    stack_samples: tuple[tuple[str, int], ...] = ()
    micro_steps: int = 1  # backwards per step
    ranks: tuple[RankResult, ...] = ()  # of several that train together
    out_of_memory: Ending | None = None  # None: it did not run out

    @property
    def step_ns(self) -> float:
        """Mean wall time of a steady step; 0 without any."""
        return self.ledger.wall_ns / self.ledger.steps if self.ledger.steps else 0.0

    def called(self, *functions: str) -> tuple[CallSighting, ...]:
        """Return the places that call these functions after the first step, the dearest first."""
        found = [call for call in self.evidence.calls if call.function in functions]
        return tuple(sorted(found, key=lambda call: -call.total_ns))

    def share_of(self, calls: tuple[CallSighting, ...]) -> float:
        """Return the share of the steady step time that these calls take."""
        return min(1.0, sum(call.step_ns for call in calls) / self.step_ns) if self.step_ns else 0.0

    def hottest(self, *categories: str) -> str | None:
        """Return the line of the user's source that most stack samples of these categories were in; None without samples."""
        return hottest(self.stack_samples, *categories)

    def share(self, *categories: Category) -> float:
        """Return the share of the steady step time that these categories of the ledger have together."""
        return sum(self.ledger.share(category) for category in categories)


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One fault: its id, its numbers in the catalogue of faults, its words, and the function that looks for it."""

    fault: str
    catalogue: tuple[str, ...]
    layer: str
    title: Text
    next_action: Text
    find: Callable[[Facts], Finding | None]
    # What is so whatever the clock says, in place of the title where a run is too short to tell shares of its time. None: the rule knows by
    # such shares alone, and says nothing of a short run.
    fact: Text | None = None
    needs_steps: bool = True  # False: it has something to say of a run without a steady step
    owner: str = ""  # who can change it: "product", "algorithm" or "platform"
    rule_of_thumb: Text | None = None  # the usual line beside the measured value; knows the values of `title`
    picture: Text | None = None  # the fault in everyday words, for people who do not know ours
    question: Text | None = None  # what to ask the team
    reference: Text | None = None  # what people reported of it, with the public issue


def ceiling(share: float) -> float:
    """Return the most that removing `share` of the step time can gain (Amdahl): 1 / (1 - share)."""
    return 1.0 / (1.0 - share) if share < 1.0 else float("inf")


def finding(
    rule: Rule,
    *,
    share: float,
    evidence: str,
    confidence: str,
    removable: float | None = None,
    treatments: tuple[str, ...] = (),
    **values: Any,
) -> Finding:
    """Return the finding of `rule`, its words filled with `share` and `values`.

    `removable`: the share of the step that a remedy could take away at most, where that is not all of `share`.
    """
    return Finding(
        fault=rule.fault,
        catalogue=rule.catalogue,
        layer=rule.layer,
        share=share,
        ceiling_speedup=ceiling(share if removable is None else removable),
        confidence=confidence,
        evidence=(evidence,),
        treatments=treatments,
        title=rule.title.say(share=share, **values),
        next_action=rule.next_action.say(share=share, **values),
        owner=rule.owner,
        **{
            name: text.say(share=share, **values)
            for name in _OPTIONAL_WORDS
            if isinstance(text := getattr(rule, name), Text)
        },
    )


def place(stack: tuple[Site, ...], otherwise: str) -> str:
    """Return the innermost place of the user's source in `stack` as file:line; `otherwise` where there is none."""
    return f"{stack[-1].path}:{stack[-1].line}" if stack else otherwise
