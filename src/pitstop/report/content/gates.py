"""Numerics checks as rows: what was compared, the measured value beside its limit, and what it would have caught."""

import msgspec

from pitstop.records.verdicts import Gate
from pitstop.report import numbers
from pitstop.report.content.labels import gate_label, label
from pitstop.report.plain import plain

_OUTCOME = {True: "passed", False: "failed", None: "not-made"}


class GateRow(msgspec.Struct, frozen=True, kw_only=True):
    """One check. `outcome` is "passed", "failed" or "not-made"; `measured` and `limit` are an en dash where there is no number."""

    outcome: str
    outcome_label: str
    name: str
    measured: str
    limit: str
    detail: str
    power: str


def gate_rows(gates: tuple[Gate, ...]) -> tuple[GateRow, ...]:
    """Return the checks in the order that they were made."""
    return tuple(
        GateRow(
            outcome=_OUTCOME[gate.passed],
            outcome_label=label("outcome", _OUTCOME[gate.passed]),
            name=gate_label(gate.name),
            measured=numbers.measured(gate.measured),
            limit=numbers.measured(gate.limit),
            detail=plain(gate.detail),
            power=plain(gate.power),
        )
        for gate in gates
    )
