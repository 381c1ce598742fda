"""`pitstop compare A B`: two stored runs side by side."""

from pathlib import Path

import typer

from pitstop.messages import say

__all__ = ["command"]


def command(
    a: str = typer.Argument(metavar="A", help=say("compare.help_run")),
    b: str = typer.Argument(metavar="B", help=say("compare.help_run")),
    json: str | None = typer.Option(None, metavar="FILE", help=say("cli.help_json")),
    markdown: Path | None = typer.Option(None, metavar="FILE", help=say("cli.help_markdown")),
    run_root: Path | None = typer.Option(None, metavar="FOLDER", help=say("profile.help_run_root")),
    lang: str | None = typer.Option(None, help=say("profile.help_lang")),
) -> None:
    del lang
    from pitstop.api.compare import compare_runs  # noqa: PLC0415  keeps `pitstop --help` fast
    from pitstop.cli.output import check_writable, errors_as_json, show_result, write_file  # noqa: PLC0415
    from pitstop.report.markdown_pair import compare_markdown  # noqa: PLC0415
    from pitstop.report.terminal import compare_screen  # noqa: PLC0415

    check_writable(json, markdown)
    with errors_as_json(json, run_root=run_root):
        result = compare_runs(run_root or Path.cwd(), a=a, b=b)
    show_result(result, json=json, screen=compare_screen)
    if markdown is not None:
        write_file(markdown, compare_markdown(result).encode())


command.__doc__ = say("compare.help")
