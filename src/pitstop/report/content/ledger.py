"""The ledger as rows: what each category costs of a steady step, largest first."""

import msgspec

from pitstop.records.results import ProfileResult
from pitstop.report import numbers
from pitstop.report.content.labels import label


class LedgerRow(msgspec.Struct, frozen=True, kw_only=True):
    """One category with its share of a steady step and, where the mean step is known, its time per step as text.

    `median`: of the steps that were seen in detail; `host_share`: of the host alone, where `share` is the device's. "" where unknown.
    """

    category: str
    name: str
    share: float
    share_text: str
    per_step: str
    median: str = ""
    host_share: str = ""


def ledger_rows(result: ProfileResult) -> tuple[LedgerRow, ...]:
    """Return the categories that took any time, largest first and `unknown` last; () where there are no steps."""
    mean_ns = result.steps.mean_ns
    host = result.host_ledger or {}
    present = [
        (category, part)
        for category, part in result.ledger.items()
        if part > 0 or host.get(category) or category == "unknown"
    ]
    present.sort(key=lambda item: (item[0] == "unknown", -item[1]))
    return tuple(
        LedgerRow(
            category=category,
            name=label("category", category),
            share=part,
            share_text=numbers.share(part),
            per_step="" if mean_ns is None else numbers.milliseconds(part * mean_ns),
            median=numbers.milliseconds(result.ledger_median_ns[category])
            if category in result.ledger_median_ns
            else "",
            host_share=numbers.share(host[category]) if category in host else "",
        )
        for category, part in present
    )
