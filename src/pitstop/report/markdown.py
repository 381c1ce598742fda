"""Reports as Markdown for a pull request: the headline, tables, and the patch folded away."""

from collections.abc import Iterable, Iterator

from pitstop.messages import say
from pitstop.records.results import ProfileResult, TuneResult
from pitstop.report.content import ProfilePage, TunePage, profile_page, tune_page
from pitstop.report.content.facts import Fact
from pitstop.report.content.findings import FindingRow, MissingRow
from pitstop.report.content.handover import Handover
from pitstop.report.markdown_text import block, code, prose


def profile_markdown(result: ProfileResult) -> str:
    """Return the report of a profile."""
    return _document(_profile(profile_page(result), title=say("report.title.profile")))


def tune_markdown(result: TuneResult) -> str:
    """Return the report of a tune, as the description of the pull request that brings the patch."""
    return _document(_tune(tune_page(result)))


def _document(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _tune(page: TunePage) -> Iterator[str]:
    yield f"## pitstop: {say('report.title.tune')}"
    yield f"**{prose(page.headline)}**"
    yield "\n".join(f"- {prose(caveat)}" for caveat in page.caveats)
    yield code(page.program)
    if page.handover:
        yield f"### {say('report.title.changes')}"
        yield _table(
            ("change", "what", "numerics"),
            ((_cell(code(row.name)), prose(row.words), prose(row.numerics)) for row in page.handover.changes),
        )
        yield from _patch(page.handover)
    if page.gates:
        yield f"### {say('report.title.gates')}"
        yield _table(
            ("check", "outcome", "measured", "limit", "what", "power"),
            (
                tuple(map(prose, (row.name, row.outcome_label, row.measured, row.limit, row.detail, row.power)))
                for row in page.gates
            ),
        )
    if page.confirm:
        yield f"### {say('report.confirm.title')}"
        yield _facts(page.confirm)
    if page.verdicts:
        yield f"### {say('report.title.verdicts')}"
        yield _table(
            ("verdict", "change", "speedup", "how", "reason"),
            (
                (
                    prose(row.kind_label),
                    _cell(code(row.change)),
                    prose(row.speedup_text),
                    prose(row.how),
                    prose(" · ".join(note for note in (row.reason, row.memory) if note)),
                )
                for row in page.verdicts
            ),
        )
    if page.cannot:
        yield f"### {say('report.title.cannot')}"
        yield "\n".join(f"- {code(name)}: {prose(reason)}" for name, reason in page.cannot)
    yield _missing(page.missing)
    yield f"### {say('report.title.account')}"
    yield _facts(page.account)
    before = _document(_profile(page.baseline, title=say("report.title.before")))
    yield _folded(say("report.title.ledger_before"), before)


def _patch(handed: Handover) -> Iterator[str]:
    if handed.diff:
        yield _folded(say("report.title.patch"), block(handed.diff, language="diff"))
    else:
        yield say("report.handover.no_diff")
    lines = [
        f"# {say(key)}\n{line}"
        for key, line in (
            ("report.handover.apply", handed.apply),
            ("report.handover.undo", handed.undo),
            ("report.handover.launch", handed.launch),
        )
        if line
    ]
    if lines:
        yield block("\n".join(lines), language="sh")
    yield prose(handed.break_even)


def _profile(page: ProfilePage, *, title: str) -> Iterator[str]:
    yield f"## pitstop: {title}"
    yield f"**{prose(page.headline)}**"
    yield "\n".join(f"- {prose(remark)}" for remark in page.remarks)
    yield code(page.program)
    if page.ledger:
        yield _table(
            ("category", "share", "per_step", "median", *(("host_share",) if page.ledger[0].host_share else ())),
            (
                tuple(
                    map(
                        prose,
                        (
                            row.name,
                            row.share_text,
                            row.per_step,
                            row.median,
                            *((row.host_share,) if row.host_share else ()),
                        ),
                    )
                )
                for row in page.ledger
            ),
        )
    if page.findings:
        yield f"### {say('report.title.findings')}"
        yield "\n".join(map(_finding, page.findings))
    if page.pipeline:
        yield f"### {say('report.title.pipeline')}"
        yield _facts(page.pipeline)
    if page.hot:
        yield f"### {say('report.title.hot')}"
        yield _table(
            ("where", "category", "share"),
            ((_cell(code(row.where)), prose(row.name), prose(row.share_text)) for row in page.hot),
        )
    if page.facts:
        yield f"### {say('report.title.facts')}"
        yield _facts(page.facts)
    yield _missing(page.missing)


def _finding(row: FindingRow) -> str:
    lines = [f"1. **{prose(row.title)}** ({' · '.join(map(prose, row.facts))})"]
    lines += [f"   - {prose(evidence)}" for evidence in row.evidence]
    if row.next_action:
        lines.append(f"   - {say('report.finding.next')}: {code(row.next_action)}")
    if row.question:
        lines.append(f"   - {say('report.finding.question')}: {prose(row.question)}")
    return "\n".join(lines)


def _missing(rows: tuple[MissingRow, ...]) -> str:
    if not rows:
        return ""
    listed = "\n".join(f"- {prose(row.what)}: {prose(row.why)}" for row in rows)
    return f"### {say('report.title.missing')}\n\n{listed}"


def _facts(facts: tuple[Fact, ...]) -> str:
    return "\n".join(f"- {prose(fact.name)}: {prose(fact.value)}" for fact in facts)


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [" | ".join(say(f"report.column.{column}") for column in columns), " | ".join("---" for _ in columns)]
    lines += [" | ".join(row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _cell(span: str) -> str:
    # In a table GitHub takes "\\|" for a bar even inside a code span; outside tables it would show the backslash.
    return span.replace("|", "\\|")


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body.rstrip()}\n\n</details>"
