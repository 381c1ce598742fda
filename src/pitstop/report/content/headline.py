"""The first sentence of each report. It says the main thing, and never more than was measured."""

import math

from pitstop.messages import say
from pitstop.records.results import PrescriptionResult, ProfileResult, TuneResult
from pitstop.records.verdicts import VerdictKind
from pitstop.report import numbers
from pitstop.report.content.labels import label
from pitstop.report.content.ledger import ledger_rows
from pitstop.report.plain import plain


def profile_headline(result: ProfileResult) -> str:
    """Return what most of a step is spent on, and what the first finding is worth at most."""
    rows = [row for row in ledger_rows(result) if row.share > 0]
    if not rows:
        return say("report.headline.no_steps")
    largest = max(rows, key=lambda row: row.share)
    sentence = say(f"report.headline.{largest.category}", share=largest.share_text)
    if not result.findings:
        return say("report.headline.healthy", sentence=sentence)
    first = result.findings[0]
    if not math.isfinite(first.ceiling_speedup) or (first.ceiling_speedup == 1.0 and not first.share):
        return sentence
    return say(
        "report.headline.worth",
        sentence=sentence,
        finding=plain(first.title or first.fault),
        ceiling=numbers.ratio(first.ceiling_speedup),
    )


def tune_headline(result: TuneResult) -> str:
    """Return the speed-up of the patched program by itself, or plainly that there is none."""
    prescription = result.prescription
    if not prescription.treatments:
        return _nothing(result)
    patched = prescription.patched
    if patched is None:
        return say("report.headline.not_patched", ratio=numbers.ratio(prescription.speedup, prescription.ci))
    measured = {"ratio": numbers.ratio(patched.speedup, patched.ci), "how": label("how", patched.how)}
    if patched.ci[0] > 1:
        return say("report.headline.faster", **measured, pairs=patched.pairs)
    if patched.how == "end-to-end" and prescription.ci is not None and prescription.ci[0] > 1:
        steps = numbers.ratio(prescription.speedup, prescription.ci)
        return say("report.headline.by_steps_only", **measured, pairs=patched.pairs, steps=steps)
    return say("report.headline.uncertain", **measured, pairs=patched.pairs)


def caveats(result: TuneResult) -> tuple[str, ...]:
    """Return what a reader must know before repeating the headline."""
    prescription = result.prescription
    found = [plain(result.reason)] if result.reason else []
    if result.tolerate_load:
        found.append(say("report.headline.tolerate_load"))
    if _pays_later(prescription):
        steps = numbers.count(prescription.break_even_steps or 0)
        found.append(say("report.headline.pays_later", steps=steps))
    if prescription.treatments:
        found.append(label("numerics-words", prescription.numerics))
        if prescription.steady_only:
            found.append(say("report.headline.steady_only"))
    return tuple(found)


def _pays_later(prescription: PrescriptionResult) -> bool:
    """Tell whether the whole program showed no certain gain although its steps are faster, and starting takes longer."""
    patched = prescription.patched
    whole = patched is not None and patched.how == "end-to-end" and patched.ci[0] <= 1
    return whole and bool(prescription.break_even_steps)


def _nothing(result: TuneResult) -> str:
    if not result.verdicts:
        return say("report.headline.nothing_tried")
    margin = numbers.share(result.margin)
    possible = [verdict for verdict in result.verdicts if not verdict.ruled_out(result.margin)]
    if result.nothing_measured:
        return say("report.headline.nothing_measured", possible=len(possible))
    tried = sum(verdict.was_tried for verdict in result.verdicts)
    if not tried:
        return say("report.headline.all_ruled_out", possible=len(result.verdicts), margin=margin)
    confirmed = [verdict for verdict in result.verdicts if verdict.stage == "confirm"]
    faster = sum(verdict.verdict == VerdictKind.FASTER for verdict in confirmed)
    open_ones = [  # what only looks faster is open too
        verdict
        for verdict in possible
        if verdict.verdict == VerdictKind.UNDECIDED
        or (verdict.verdict == VerdictKind.FASTER and verdict not in confirmed)
    ]
    if faster:
        return say("report.headline.none_chosen", tried=tried, faster=faster)
    if open_ones:
        return say("report.headline.nothing_certain", tried=tried, margin=margin, undecided=len(open_ones))
    return say("report.headline.nothing_helped", tried=tried, margin=margin)
