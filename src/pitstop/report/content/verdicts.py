"""The verdict table: everything that was tried, in one order, with no more claimed than was measured."""

import msgspec

from pitstop.messages import say
from pitstop.records.results import VerdictResult
from pitstop.records.verdicts import VerdictKind
from pitstop.report import numbers
from pitstop.report.content.gates import GateRow, gate_rows
from pitstop.report.content.labels import label
from pitstop.report.plain import plain

ORDER = (
    VerdictKind.FASTER,
    VerdictKind.EQUIVALENT,
    VerdictKind.SLOWER,
    VerdictKind.UNDECIDED,
    VerdictKind.UNSAFE,
    VerdictKind.INVALID,
)


class VerdictRow(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict. `kind` is one of ORDER, "" for an unknown one. `claimed` is False for a screening number, which `how` then marks as no claim."""

    kind: str
    kind_label: str
    change: str
    numerics: str
    speedup: float | None
    ci: tuple[float, float] | None
    speedup_text: str
    predicted: str
    how: str
    claimed: bool
    reason: str
    memory: str
    gates: tuple[GateRow, ...]


def verdict_rows(verdicts: tuple[VerdictResult, ...]) -> tuple[VerdictRow, ...]:
    """Return the verdicts ordered by kind, then confirmed before screened, then by speed-up."""
    return tuple(_row(verdict) for verdict in sorted(verdicts, key=_place))


def change_name(treatments: tuple[str, ...]) -> str:
    """Return the names of changes that were made together, as one text."""
    return " + ".join(map(plain, treatments))


def _place(verdict: VerdictResult) -> tuple[int, bool, float, tuple[str, ...]]:
    kinds = [kind.value for kind in ORDER]
    place = kinds.index(verdict.verdict) if verdict.verdict in kinds else len(kinds)
    return place, verdict.stage != "confirm", -(verdict.speedup or 0.0), verdict.treatments


def _row(verdict: VerdictResult) -> VerdictRow:
    claimed = verdict.stage == "confirm" and verdict.ci is not None
    extra = verdict.extra_peak_bytes
    return VerdictRow(
        kind=verdict.verdict if verdict.verdict in ORDER else "",
        kind_label=label("verdict", verdict.verdict),
        change=change_name(verdict.treatments),
        numerics=label("numerics", verdict.numerics),
        speedup=verdict.speedup,
        ci=verdict.ci,
        speedup_text=numbers.NO_NUMBER if verdict.speedup is None else numbers.ratio(verdict.speedup, verdict.ci),
        predicted=""
        if verdict.predicted is None
        else say("report.tried.predicted", ci=numbers.interval(verdict.predicted)),
        how=_how(verdict, claimed=claimed),
        claimed=claimed,
        reason=plain(verdict.reason),
        memory="" if not extra or extra <= 0 else say("report.tried.memory", size=numbers.bytes_text(extra)),
        gates=gate_rows(verdict.gates),
    )


def _how(verdict: VerdictResult, *, claimed: bool) -> str:
    if claimed:
        key = "compared" if verdict.verdict == VerdictKind.UNDECIDED else "confirmed"
        return say(f"report.tried.{key}", pairs=verdict.pairs)
    if verdict.speedup is None:
        return say("report.tried.no_speed")
    return say("report.tried.screened")
