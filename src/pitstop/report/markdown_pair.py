"""Two runs or versions side by side as Markdown: a pull request's comment, the summary of a CI job."""

from collections.abc import Iterator

from pitstop.messages import say
from pitstop.records.results import CompareResult, GateResult
from pitstop.report.content.compare import compare_page
from pitstop.report.content.gate import gate_page
from pitstop.report.content.pair import PairPage
from pitstop.report.markdown_text import code, prose

__all__ = ["compare_markdown", "gate_markdown"]


def gate_markdown(result: GateResult) -> str:
    """Return the report of a gate."""
    return _text(gate_page(result))


def compare_markdown(result: CompareResult) -> str:
    """Return the report of a comparison."""
    return _text(compare_page(result))


def _text(page: PairPage) -> str:
    return "\n\n".join(part for part in _parts(page) if part) + "\n"


def _parts(page: PairPage) -> Iterator[str]:
    yield f"## pitstop: {page.title}"
    yield f"**{prose(page.headline)}**"
    yield "\n".join(f"- {prose(caveat)}" for caveat in page.caveats)
    yield code(page.program)
    if page.rows:
        titles = " | ".join((say("report.column.category"), *page.titles, say("gate.column_change")))
        lines = [f"| {titles} |", "| --- | ---: | ---: | ---: |"]
        lines += [f"| {prose(row.name)} | {row.first} | {row.second} | {row.change} |" for row in page.rows]
        yield "\n".join(lines)
        yield prose(page.note)
    yield "\n".join(f"- {prose(fact.name)}: {prose(fact.value)}" for fact in page.facts)
