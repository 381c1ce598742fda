"""`pitstop gate -- CMD...`: is this version of the program slower than its base? For CI."""

from pathlib import Path

import typer

from pitstop.messages import say

__all__ = ["command"]


def command(
    cmd: list[str] = typer.Argument(None, metavar="-- CMD...", help=say("gate.help_command"), show_default=False),
    base: str | None = typer.Option(None, metavar="REF", help=say("gate.help_base")),
    head: str | None = typer.Option(None, metavar="REF", help=say("gate.help_head")),
    margin: str = typer.Option("3%", metavar="SHARE", help=say("gate.help_margin")),
    memory_margin: str = typer.Option("10%", metavar="SHARE", help=say("gate.help_memory_margin")),
    strict: bool = typer.Option(False, "--strict", help=say("gate.help_strict")),
    budget: str | None = typer.Option(None, metavar="TIME", help=say("gate.help_budget")),
    resume: bool = typer.Option(False, "--resume", help=say("gate.help_resume")),
    tolerate_load: bool = typer.Option(False, "--tolerate-load", help=say("tune.help_load")),
    allow_network: bool = typer.Option(False, "--allow-network", help=say("tune.help_network")),
    unsafe_trials: bool = typer.Option(False, "--unsafe-trials", help=say("tune.help_unsafe")),
    json: str | None = typer.Option(None, metavar="FILE", help=say("cli.help_json")),
    markdown: Path | None = typer.Option(None, metavar="FILE", help=say("gate.help_markdown")),
    run_root: Path | None = typer.Option(None, metavar="FOLDER", help=say("profile.help_run_root")),
    lang: str | None = typer.Option(None, help=say("profile.help_lang")),
) -> None:
    del lang
    from pitstop.api.gate import GateRequest, run_gate  # noqa: PLC0415  keeps `pitstop --help` fast
    from pitstop.cli.output import (  # noqa: PLC0415
        append_file,
        check_writable,
        errors_as_json,
        errors_as_markdown,
        show_result,
    )
    from pitstop.cli.progress import tune_progress  # noqa: PLC0415
    from pitstop.cli.tune import seconds  # noqa: PLC0415
    from pitstop.errors import CheckFailed  # noqa: PLC0415
    from pitstop.report.markdown_pair import gate_markdown  # noqa: PLC0415
    from pitstop.report.terminal import gate_screen  # noqa: PLC0415

    request = GateRequest(
        command=tuple(cmd or ()),
        cwd=Path.cwd(),
        base=base,
        head=head,
        run_root=run_root,
        budget_s=seconds(budget) if budget is not None else None,
        margin=share(margin, most=1.0),
        memory_margin=share(memory_margin),
        strict=strict,
        resume=resume,
        tolerate_load=tolerate_load,
        allow_network=allow_network,
        unsafe_trials=unsafe_trials,
    )
    check_writable(json, markdown)
    with errors_as_json(json, run_root=run_root), errors_as_markdown(markdown), tune_progress() as progress:
        result = run_gate(request, progress=progress)
    show_result(result, json=json, screen=gate_screen)
    if markdown is not None:
        append_file(markdown, gate_markdown(result).encode())
    if not result.passed:
        raise typer.Exit(CheckFailed.exit_code)


def share(text: str, *, most: float = float("inf")) -> float:
    """Read "2%" or "0.02" as 0.02. Raises typer.BadParameter for anything else, and above `most`: "2" is two hundred percent."""
    number = text.strip()
    try:
        value = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most or value == float("inf"):
        raise typer.BadParameter(say("gate.bad_share", text=text))
    return value


command.__doc__ = say("gate.help")
