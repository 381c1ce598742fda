"""The report of a fit as Markdown for a pull request."""

from collections.abc import Iterator

from pitstop.messages import say
from pitstop.records.results import FitResult
from pitstop.report.content.fit import FitPage, fit_page
from pitstop.report.markdown_text import block, code, prose

__all__ = ["fit_markdown"]


def fit_markdown(result: FitResult) -> str:
    """Return the report of a fit."""
    return "\n\n".join(part for part in _parts(fit_page(result)) if part) + "\n"


def _parts(page: FitPage) -> Iterator[str]:
    yield f"## pitstop: {say('fit.title')}"
    yield f"**{prose(page.headline)}**"
    yield "\n".join(f"- {prose(caveat)}" for caveat in page.caveats)
    yield code(page.program)
    yield f"### {say('fit.title_sizes')}"
    titles = " | ".join(say(f"fit.column_{name}") for name in ("batch", "outcome", "memory", "time"))
    lines = [f"| {titles} |", "| --- | --- | --- | --- |"]
    for row in page.rows:
        batch = f"**{prose(row.batch)}**" if row.chosen else prose(row.batch)
        lines.append(f"| {batch} | {prose(row.outcome_label)} | {prose(row.memory)} | {prose(row.time)} |")
    yield "\n".join(lines)
    if page.diff:
        yield f"### {say('fit.title_edit')}"
        yield block(page.diff, language="diff")
    for key, command in (("report.handover.apply", page.apply), ("report.handover.launch", page.launch)):
        if command:
            yield block(f"# {say(key)}\n{command}", language="sh")
    if page.suggestion:
        yield f"### {say('fit.title_by_hand')}"
        yield block(page.suggestion, language="python")
    if page.missing:
        yield f"### {say('report.title.missing')}"
        yield "\n".join(f"- {prose(row.what)}: {prose(row.why)}" for row in page.missing)
    yield f"### {say('report.title.account')}"
    yield "\n".join(f"- {prose(fact.name)}: {prose(fact.value)}" for fact in page.facts)
