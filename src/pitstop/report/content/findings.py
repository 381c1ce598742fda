"""Findings, hot places and what was not measured, as rows."""

import math

import msgspec

from pitstop.messages import say
from pitstop.records.results import Finding, NotMeasured, ProfileResult, Shadow
from pitstop.records.steps import CATEGORIES
from pitstop.report import numbers
from pitstop.report.content.labels import label
from pitstop.report.plain import plain


class FindingRow(msgspec.Struct, frozen=True, kw_only=True):
    """One finding in words. `weight` says its share and ceiling; `next_action` is a line to copy or empty.

    From `owner` on: what helps people to act, "" where the rule has no words for it.
    """

    title: str
    layer: str
    weight: str
    confidence: str
    evidence: tuple[str, ...]
    next_action: str
    reference: str
    owner: str = ""
    rule_of_thumb: str = ""
    picture: str = ""
    question: str = ""
    reported: str = ""

    @property
    def facts(self) -> tuple[str, ...]:
        """Layer, weight, confidence and owner, for one line."""
        owner = say("report.finding.owner", owner=self.owner) if self.owner else ""
        return tuple(filter(None, (self.layer, self.weight, self.confidence, owner)))


class HotRow(msgspec.Struct, frozen=True, kw_only=True):
    """One hot place of the user's program and what the step was doing there; `category` is "" where that is not known."""

    category: str
    name: str
    where: str
    share: float
    share_text: str


class MissingRow(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not known, and why."""

    what: str
    why: str


def finding_rows(result: ProfileResult) -> tuple[FindingRow, ...]:
    """Return the findings in the order that the diagnosis ranked them."""
    return tuple(map(_finding, result.findings))


def hot_rows(result: ProfileResult, *, most: int = 8) -> tuple[HotRow, ...]:
    """Return the `most` hottest places, hottest first."""
    hottest = sorted(result.hot, key=lambda place: -place.share)[:most]
    return tuple(_hot(place, folder=result.program.cwd) for place in hottest)


def missing_rows(missing: tuple[NotMeasured, ...]) -> tuple[MissingRow, ...]:
    """Return what was not measured, with the reasons."""
    return tuple(MissingRow(what=plain(item.what), why=plain(item.why)) for item in missing)


def _hot(place: Shadow, *, folder: str) -> HotRow:
    """Take "category|file:line function > inner" apart; places in the program's own folder are named from there."""
    category, bar, where = place.where.partition("|")
    in_worker = category == "worker"
    if in_worker:
        category = ""
    elif not bar or category not in CATEGORIES:
        category, where = "", place.where
    return HotRow(
        category=category,
        name=label("category", category) if category else say("report.pipeline.in_worker") if in_worker else "",
        where=plain(where.removeprefix(folder.rstrip("/") + "/")),
        share=place.share,
        share_text=numbers.share(place.share),
    )


def _finding(finding: Finding) -> FindingRow:
    ceiling = finding.ceiling_speedup
    key = "report.finding.weight" if math.isfinite(ceiling) else "report.finding.weight_unbounded"
    if not finding.share and ceiling == 1.0:
        key = "report.finding.weight_unknown"
    return FindingRow(
        title=plain(finding.title or finding.fault),
        layer=label("layer", finding.layer),
        weight=say(
            key, share=numbers.share(finding.share), ceiling=numbers.ratio(ceiling) if math.isfinite(ceiling) else ""
        ),
        confidence=label("confidence", finding.confidence),
        evidence=tuple(map(plain, finding.evidence)),
        next_action=plain(finding.next_action),
        reference=", ".join(map(plain, finding.catalogue)),
        owner=label("owner", finding.owner) if finding.owner else "",
        rule_of_thumb=plain(finding.rule_of_thumb),
        picture=plain(finding.picture),
        question=plain(finding.question),
        reported=plain(finding.reference),
    )
