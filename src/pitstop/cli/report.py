"""`pitstop report [RUN]`: show a stored run again, as screen, page, Markdown or JSON."""

from pathlib import Path

import typer

from pitstop.messages import say

__all__ = ["command"]


def command(
    run: str | None = typer.Argument(None, metavar="[RUN]", help=say("cli.help_run"), show_default=False),
    json: str | None = typer.Option(None, metavar="FILE", help=say("cli.help_json")),
    html: Path | None = typer.Option(None, metavar="FILE", help=say("cli.help_html")),
    markdown: Path | None = typer.Option(None, metavar="FILE", help=say("cli.help_markdown")),
    run_root: Path | None = typer.Option(None, metavar="FOLDER", help=say("profile.help_run_root")),
    lang: str | None = typer.Option(None, help=say("profile.help_lang")),
) -> None:
    del lang
    from pitstop.api.stored import stored_result  # noqa: PLC0415  keeps `pitstop --help` fast
    from pitstop.cli.output import show_result, write_file, write_result  # noqa: PLC0415
    from pitstop.errors import WrongUse  # noqa: PLC0415
    from pitstop.records.results import FitResult, GateResult, TuneResult  # noqa: PLC0415
    from pitstop.report.html import fit_html, profile_html, tune_html  # noqa: PLC0415
    from pitstop.report.markdown import profile_markdown, tune_markdown  # noqa: PLC0415
    from pitstop.report.markdown_fit import fit_markdown  # noqa: PLC0415
    from pitstop.report.markdown_pair import gate_markdown  # noqa: PLC0415
    from pitstop.report.terminal import fit_screen, gate_screen, profile_screen, tune_screen  # noqa: PLC0415

    result = stored_result(run_root or Path.cwd(), wanted=run)
    if isinstance(result, TuneResult):
        text = tune_markdown(result) if markdown else ""
        write_result(result, json=json, html=html, page=tune_html, screen=tune_screen)
    elif isinstance(result, FitResult):
        text = fit_markdown(result) if markdown else ""
        write_result(result, json=json, html=html, page=fit_html, screen=fit_screen)
    elif isinstance(result, GateResult):
        if html is not None:
            raise WrongUse("gate.no_page")
        text = gate_markdown(result) if markdown else ""
        show_result(result, json=json, screen=gate_screen)
    else:
        text = profile_markdown(result) if markdown else ""
        write_result(result, json=json, html=html, page=profile_html, screen=profile_screen)
    if markdown is not None:
        write_file(markdown, text.encode())


command.__doc__ = say("cli.report_help")
