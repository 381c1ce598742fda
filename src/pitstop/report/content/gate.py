"""What the report of `pitstop gate` says, as text."""

from pitstop.messages import say
from pitstop.records.results import GateMemory, GateResult, GateSide
from pitstop.report import numbers
from pitstop.report.content.facts import Fact, command_line
from pitstop.report.content.pair import PairPage, ledger_pairs
from pitstop.report.plain import plain

__all__ = ["gate_page"]

_LISTED = 6  # files that differ


def gate_page(result: GateResult) -> PairPage:
    """Return the words and numbers of one gate."""
    return PairPage(
        title=say("gate.title"),
        headline=_headline(result),
        good=result.passed,
        caveats=tuple(plain(one) for one in (*_memory_lines(result), _power(result), *result.caveats) if one),
        program=command_line(result.command),
        titles=(say("gate.base"), say("gate.head")),
        rows=ledger_pairs(result.base.ledger_ns, result.head.ledger_ns),
        note=say("gate.ledger_note"),
        facts=_facts(result),
    )


def _headline(result: GateResult) -> str:
    ratio = numbers.ratio(result.speedup, result.ci)
    verdict = say(f"gate.headline_{result.verdict}", ratio=ratio, margin=numbers.share(result.margin))
    return say("gate.passed" if result.passed else "gate.failed", verdict=verdict)


def _power(result: GateResult) -> str:
    if result.verdict != "undecided" or result.detectable is None:
        return ""
    found = say("gate.would_have_found", slowdown=numbers.ratio(result.detectable), pairs=result.pairs)
    if result.further_pairs:
        found += " " + say("gate.more_pairs", pairs=numbers.count(result.further_pairs))
    return found


def _memory_lines(result: GateResult) -> tuple[str, ...]:
    return tuple(_memory_line(one) for one in result.memory if one.worse)


def _memory_line(one: GateMemory) -> str:
    return say(
        "gate.memory_worse",
        what=say(f"gate.memory_{one.of.replace('-', '_')}"),
        ratio=numbers.ratio(one.ratio, one.ci),
        margin=numbers.share(one.margin),
    )


def _facts(result: GateResult) -> tuple[Fact, ...]:
    listed = [plain(path) for path in result.differing]
    more = [say("gate.and_more", count=len(listed) - _LISTED)] if len(listed) > _LISTED else []
    found = [
        Fact(name=say("gate.base"), value=_version(result.base)),
        Fact(name=say("gate.head"), value=_version(result.head)),
        Fact(name=say("gate.fact_differing"), value=", ".join([*listed[:_LISTED], *more])),
    ]
    found += [
        Fact(
            name=say(f"gate.memory_{one.of.replace('-', '_')}"),
            value=say("gate.memory_fact", ratio=numbers.ratio(one.ratio, one.ci), margin=numbers.share(one.margin)),
        )
        for one in result.memory
    ]
    compared = say("gate.by_sample" if result.by_sample else "gate.by_step", pairs=result.pairs)
    spent = say(
        "gate.spent", trials=result.trials, invalid=result.invalid_trials, time=numbers.duration(result.wall_s * 1e9)
    )
    found += [
        Fact(name=say("gate.fact_pairs"), value=compared),
        Fact(name=say("gate.fact_spent"), value=spent),
        Fact(name=say("gate.fact_protected"), value=plain(result.sandbox)),
    ]
    if result.run_folder:
        found.append(Fact(name=say("gate.fact_folder"), value=plain(result.run_folder)))
    return tuple(found)


def _version(side: GateSide) -> str:
    if side.commit is None:
        return say("gate.working_tree")
    return f"{side.commit[:12]} {plain(side.title)}"
