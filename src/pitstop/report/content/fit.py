"""What the report of `pitstop fit` says, as text: the headline, the sizes that were tried, the edit, what was not measured."""

import shlex

import msgspec

from pitstop.messages import say
from pitstop.records.results import FitResult, FitSize
from pitstop.report import numbers
from pitstop.report.content.facts import Fact, command_line
from pitstop.report.content.findings import MissingRow
from pitstop.report.content.labels import label
from pitstop.report.plain import plain, plain_lines

__all__ = ["FitPage", "SizeRow", "fit_page"]


class SizeRow(msgspec.Struct, frozen=True, kw_only=True):
    """One batch size. `chosen` is the one handed over."""

    batch: str
    outcome: str
    outcome_label: str
    memory: str
    time: str
    chosen: bool


class FitPage(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a reader sees, in reading order."""

    headline: str
    caveats: tuple[str, ...]
    program: str
    rows: tuple[SizeRow, ...]
    facts: tuple[Fact, ...]
    diff: str
    apply: str
    launch: str
    suggestion: str
    missing: tuple[MissingRow, ...]


def fit_page(result: FitResult) -> FitPage:
    """Return the words and numbers of one fit."""
    patch = None if result.patch is None else plain(shlex.quote(result.patch))
    changed = result.command and result.command != result.program.command
    return FitPage(
        headline=_headline(result),
        caveats=tuple(plain(one) for one in (_given_up(result), _class(result), result.reason) if one),
        program=command_line(result.program.command),
        rows=tuple(_row(size, result) for size in result.sizes),
        facts=_facts(result),
        diff=plain_lines(result.diff).rstrip("\n"),
        apply=f"git apply {patch}" if patch else "",
        launch=command_line(result.command) if changed else "",
        suggestion=result.suggestion.rstrip("\n"),
        missing=tuple(MissingRow(what=plain(one.what), why=plain(one.why)) for one in result.not_measured),
    )


def _headline(result: FitResult) -> str:
    limit = numbers.bytes_text(result.limit_bytes)
    if result.batch is None:
        return say("fit.headline_nothing", own=result.own_batch, limit=limit)
    if result.batch == result.own_batch:
        return say("fit.headline_own", own=result.own_batch, limit=limit)
    if result.batch > result.own_batch:
        return say("fit.headline_larger", own=result.own_batch, batch=result.batch, limit=limit)
    key = "fit.headline_by_hand" if result.suggestion else "fit.headline_died"
    if result.own_fits and not result.suggestion:
        key = "fit.headline_fits"
    return say(key, own=result.own_batch, batch=result.batch, factor=result.accumulate, limit=limit)


def _given_up(result: FitResult) -> str:
    """Say how the choice compares with the program's own batch, and with the size that came closest."""
    said = []
    if result.speedup is not None:
        key = "fit.against_unlimited" if result.own_lifted else "fit.against_own"
        said.append(say(key, ratio=numbers.ratio(result.speedup, result.ci), own=result.own_batch))
    if result.rival is not None and result.rival_speedup is not None and result.rival_verdict is not None:
        said.append(
            say(
                "fit.against_rival",
                ratio=numbers.ratio(result.rival_speedup, result.rival_ci),
                rival=result.rival,
                verdict=label("verdict", result.rival_verdict),
            )
        )
    return " ".join(said)


def _class(result: FitResult) -> str:
    if result.batch is None or result.batch == result.own_batch:
        return ""
    numerics = label("numerics", result.numerics)
    why = result.numerics_reason
    return say("fit.class_why", numerics=numerics, why=why) if why else say("fit.class", numerics=numerics)


def _row(size: FitSize, result: FitResult) -> SizeRow:
    parts = f"{size.batch} x {size.accumulate}" if size.accumulate > 1 else str(size.batch)
    peak = size.peak_device_bytes if size.peak_device_bytes is not None else size.peak_bytes
    key = "fit.outcome_lifted" if size.lifted else f"fit.outcome_{size.outcome.replace('-', '_')}"
    return SizeRow(
        batch=parts,
        outcome=size.outcome,
        outcome_label=say(key),
        memory=numbers.bytes_text(peak) if peak is not None else numbers.NO_NUMBER,
        time=numbers.milliseconds(size.ns_per_sample) if size.ns_per_sample is not None else numbers.NO_NUMBER,
        chosen=size.batch == result.batch and not size.lifted,
    )


def _facts(result: FitResult) -> tuple[Fact, ...]:
    limit = say(f"fit.limit_{result.limit.replace('-', '_')}", size=numbers.bytes_text(result.limit_bytes))
    found = [Fact(name=say("fit.fact_limit"), value=limit)]
    if result.check is not None and result.check.passed is not None:
        key = "fit.check_passed_fact" if result.check.passed else "fit.check_failed_fact"
        text = say(key, measured=numbers.measured(result.check.measured), limit=numbers.measured(result.check.limit))
        found.append(Fact(name=say("fit.fact_check"), value=text))
    if result.to_the_end is not None:
        text = say("fit.ran_to_the_end" if result.to_the_end else "fit.not_to_the_end")
        found.append(Fact(name=say("fit.fact_end"), value=text))
    spent = say("fit.spent", trials=result.trials, time=numbers.duration(result.wall_s * 1e9))
    found.append(Fact(name=say("fit.fact_trials"), value=spent))
    found.append(Fact(name=say("fit.fact_protected"), value=plain(result.sandbox)))
    if result.run_folder:
        found.append(Fact(name=say("fit.fact_folder"), value=plain(result.run_folder)))
    return tuple(found)
