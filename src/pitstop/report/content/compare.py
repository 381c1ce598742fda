"""What the report of `pitstop compare` says, as text."""

from collections.abc import Callable

from pitstop.messages import say
from pitstop.records.results import CompareResult, CompareRun
from pitstop.report import numbers
from pitstop.report.content.facts import Fact, command_line
from pitstop.report.content.pair import PairPage, ledger_pairs
from pitstop.report.plain import plain

__all__ = ["compare_page"]


def compare_page(result: CompareResult) -> PairPage:
    """Return the words and numbers of one comparison of stored runs."""
    return PairPage(
        title=say("compare.title"),
        headline=_headline(result),
        good=None,
        caveats=(say("compare.no_proof"), *map(plain, result.differences)),
        program=command_line(result.b.command),
        titles=("A", "B"),
        rows=ledger_pairs(result.a.ledger_ns, result.b.ledger_ns),
        note=say("compare.ledger_note"),
        facts=_facts(result),
    )


def _headline(result: CompareResult) -> str:
    if result.ratio is None:
        return say("compare.headline_none")
    key = "compare.headline_by_sample" if result.by_sample else "compare.headline_by_step"
    return say(key, share=numbers.share(1 / result.ratio))


def _facts(result: CompareResult) -> tuple[Fact, ...]:
    found = [
        Fact(name="A", value=plain(result.a.run_folder)),
        Fact(name="B", value=plain(result.b.run_folder)),
        Fact(name=say("compare.fact_step"), value=_both(result, lambda run: _time(run.step_ns))),
        Fact(name=say("compare.fact_median"), value=_both(result, lambda run: _time(run.median_ns))),
        Fact(name=say("compare.fact_p90"), value=_both(result, lambda run: _time(run.p90_ns))),
        Fact(name=say("compare.fact_count"), value=_both(result, _count)),
        Fact(name=say("compare.fact_memory"), value=_both(result, _memory)),
    ]
    for key, mine, others in (("compare.only_a", result.a, result.b), ("compare.only_b", result.b, result.a)):
        only = [plain(one) for one in mine.findings if one not in others.findings]
        if only:
            found.append(Fact(name=say(key), value="; ".join(only)))
    return tuple(one for one in found if one.value)


def _both(result: CompareResult, text: Callable[[CompareRun], str]) -> str:
    before, after = text(result.a), text(result.b)
    return f"{before} → {after}" if before and after else ""


def _time(elapsed_ns: int | None) -> str:
    return numbers.milliseconds(elapsed_ns) if elapsed_ns is not None else ""


def _count(run: CompareRun) -> str:
    return numbers.count(run.steps) if run.steps is not None else ""


def _memory(run: CompareRun) -> str:
    return numbers.bytes_text(run.peak_bytes) if run.peak_bytes is not None else ""
