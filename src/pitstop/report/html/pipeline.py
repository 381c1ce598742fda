"""A step as a pipeline: data, transfer, forward, backward, optimizer, and everything beside them, each as full as its share."""

import msgspec

from pitstop.messages import say
from pitstop.records.results import ProfileResult
from pitstop.records.steps import Category
from pitstop.report import numbers
from pitstop.report.content.labels import label

STAGES: tuple[Category, ...] = ("data_wait", "host_to_device", "forward", "backward", "optimizer")


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One part. `fill` is its share in percent; `widest`: the largest of all; `unused`: nothing of it was seen."""

    category: str
    name: str
    fill: float
    share_text: str
    per_step: str
    widest: bool
    unused: bool


def pipeline(result: ProfileResult) -> tuple[Stage, ...]:
    """Return the five parts of every step in their order, then all the rest as one ("rest"); () where there are no steps."""
    if not result.ledger:
        return ()
    shares: list[tuple[str, str, float]] = [
        (category, label("category", category), result.ledger.get(category, 0.0)) for category in STAGES
    ]
    rest = sum(part for category, part in result.ledger.items() if category not in STAGES)
    shares.append(("rest", say("report.page.rest"), rest))
    most = max(part for _, _, part in shares)
    mean_ns = result.steps.mean_ns
    return tuple(
        Stage(
            category=category,
            name=name,
            fill=round(100 * part, 2),
            share_text=numbers.share(part),
            per_step="" if mean_ns is None or part <= 0 else numbers.milliseconds(part * mean_ns),
            widest=part == most,
            unused=part <= 0,
        )
        for category, name, part in shares
    )
