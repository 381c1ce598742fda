"""Everything that a report says, gathered once: the renderers (terminal, Markdown, HTML) only lay it out."""

import msgspec

from pitstop.records.results import ProfileResult, TuneResult
from pitstop.report.content.account import account_facts, confirm_facts
from pitstop.report.content.environment import environment_facts
from pitstop.report.content.facts import Fact, program_line, run_facts
from pitstop.report.content.findings import (
    FindingRow,
    HotRow,
    MissingRow,
    finding_rows,
    hot_rows,
    missing_rows,
)
from pitstop.report.content.gates import GateRow, gate_rows
from pitstop.report.content.handover import Handover, handover
from pitstop.report.content.headline import caveats, profile_headline, tune_headline
from pitstop.report.content.ledger import LedgerRow, ledger_rows
from pitstop.report.content.pipeline import pipeline_facts, pipeline_in_short
from pitstop.report.content.remarks import remarks
from pitstop.report.content.verdicts import VerdictRow, verdict_rows
from pitstop.report.plain import plain


class ProfilePage(msgspec.Struct, frozen=True, kw_only=True):
    """A profile in words, in the chosen language. All text is harmless but unescaped."""

    headline: str
    remarks: tuple[str, ...]
    program: str
    ledger: tuple[LedgerRow, ...]
    findings: tuple[FindingRow, ...]
    facts: tuple[Fact, ...]
    pipeline: tuple[Fact, ...]
    pipeline_in_short: tuple[Fact, ...]
    hot: tuple[HotRow, ...]
    missing: tuple[MissingRow, ...]
    environment: tuple[Fact, ...] = ()


class TunePage(msgspec.Struct, frozen=True, kw_only=True):
    """A tune in words, in the chosen language; `cannot` is (treatment, reason). All text is harmless but unescaped."""

    headline: str
    caveats: tuple[str, ...]
    program: str
    handover: Handover | None
    gates: tuple[GateRow, ...]
    verdicts: tuple[VerdictRow, ...]
    cannot: tuple[tuple[str, str], ...]
    confirm: tuple[Fact, ...]
    account: tuple[Fact, ...]
    missing: tuple[MissingRow, ...]
    baseline: ProfilePage


def profile_page(result: ProfileResult, *, in_part: bool = False) -> ProfilePage:
    """Return what the report of a profile says; `in_part`: of the part of a run that a tune observed."""
    return ProfilePage(
        headline=profile_headline(result),
        remarks=() if in_part else remarks(result),
        program=program_line(result, in_part=in_part),
        ledger=ledger_rows(result),
        findings=finding_rows(result),
        facts=run_facts(result),
        pipeline=pipeline_facts(result),
        pipeline_in_short=pipeline_in_short(result),
        hot=hot_rows(result),
        missing=missing_rows(result.not_measured),
        environment=environment_facts(result),
    )


def tune_page(result: TuneResult) -> TunePage:
    """Return what the report of a tune says."""
    return TunePage(
        headline=tune_headline(result),
        caveats=caveats(result),
        program=program_line(result.baseline, in_part=True),
        handover=handover(result),
        gates=gate_rows(result.prescription.equivalence),
        verdicts=verdict_rows(result.verdicts),
        cannot=tuple((plain(name), plain(reason)) for name, reason in sorted(result.cannot_apply.items())),
        confirm=confirm_facts(result.confirm),
        account=account_facts(result),
        missing=missing_rows(result.not_measured),
        baseline=profile_page(result.baseline, in_part=True),
    )
