"""`pitstop profile -- CMD...`: run the program with the probe and say where its time went."""

import sys
from pathlib import Path

import typer

from pitstop.errors import WrongUse
from pitstop.messages import say

__all__ = ["command"]


def command(
    cmd: list[str] = typer.Argument(None, metavar="-- CMD...", help=say("profile.help_command"), show_default=False),
    json: str | None = typer.Option(None, metavar="FILE", help=say("cli.help_json")),
    html: Path | None = typer.Option(None, metavar="FILE", help=say("cli.help_html")),
    run_root: Path | None = typer.Option(None, metavar="FOLDER", help=say("profile.help_run_root")),
    lang: str | None = typer.Option(None, help=say("profile.help_lang")),
) -> None:
    del lang
    from pitstop.api.profile import profile_program  # noqa: PLC0415  keeps `pitstop --help` fast
    from pitstop.cli.output import check_writable, write_result  # noqa: PLC0415
    from pitstop.report.html import profile_html  # noqa: PLC0415
    from pitstop.report.terminal import profile_screen  # noqa: PLC0415

    check_writable(json, html)
    run = profile_program(cmd or [], cwd=Path.cwd(), run_root=run_root, stdout_is_taken=json == "-")
    failed = run.not_kept
    try:
        write_result(run.result, json=json, html=html, page=profile_html, screen=profile_screen)
    except WrongUse as error:  # the exit code of a program that failed by itself says more
        failed = error
        if run.exit_code == 0:
            raise
    if failed is not None:
        sys.stderr.write(f"pitstop: {say(failed.key, **failed.values)}\n")
    raise typer.Exit(run.exit_code)


command.__doc__ = say("profile.help")
