"""`pitstop fit -- CMD...`: the fastest batch that fits into memory, with the edit that sets it."""

import re
from pathlib import Path

import typer

from pitstop.errors import CouldNotMeasure
from pitstop.messages import say

__all__ = ["command"]

_SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*(K|M|G|T)(?:i?B)?$", re.IGNORECASE)


def command(
    cmd: list[str] = typer.Argument(None, metavar="-- CMD...", help=say("profile.help_command"), show_default=False),
    memory: str | None = typer.Option(None, metavar="SIZE", help=say("fit.help_memory")),
    budget: str | None = typer.Option(None, metavar="TIME", help=say("tune.help_budget")),
    margin: float = typer.Option(0.02, min=0.0, max=1.0, help=say("tune.help_margin")),
    larger: bool = typer.Option(False, "--larger", help=say("fit.help_larger")),
    resume: bool = typer.Option(False, "--resume", help=say("fit.help_resume")),
    allow_network: bool = typer.Option(False, "--allow-network", help=say("tune.help_network")),
    unsafe_trials: bool = typer.Option(False, "--unsafe-trials", help=say("tune.help_unsafe")),
    json: str | None = typer.Option(None, metavar="FILE", help=say("cli.help_json")),
    html: Path | None = typer.Option(None, metavar="FILE", help=say("cli.help_html")),
    run_root: Path | None = typer.Option(None, metavar="FOLDER", help=say("profile.help_run_root")),
    lang: str | None = typer.Option(None, help=say("profile.help_lang")),
) -> None:
    del lang
    from pitstop.api.fit import FitRequest, fit_program  # noqa: PLC0415  keeps `pitstop --help` fast
    from pitstop.cli.output import check_writable, errors_as_json, write_result  # noqa: PLC0415
    from pitstop.cli.progress import tune_progress  # noqa: PLC0415
    from pitstop.cli.tune import seconds  # noqa: PLC0415
    from pitstop.report.html import fit_html  # noqa: PLC0415
    from pitstop.report.terminal import fit_screen  # noqa: PLC0415

    request = FitRequest(
        command=tuple(cmd or ()),
        cwd=Path.cwd(),
        run_root=run_root,
        budget_s=seconds(budget) if budget is not None else None,
        memory_bytes=num_bytes(memory) if memory is not None else None,
        margin=margin,
        larger=larger,
        resume=resume,
        allow_network=allow_network,
        unsafe_trials=unsafe_trials,
    )
    check_writable(json, html)
    with errors_as_json(json, run_root=run_root), tune_progress() as progress:
        result = fit_program(request, progress=progress)
    write_result(result, json=json, html=html, page=fit_html, screen=fit_screen)
    if result.batch is None:
        raise typer.Exit(CouldNotMeasure.exit_code)


def num_bytes(text: str) -> int:
    """Read "2GiB", "2G" or "512MiB" (binary units) as bytes. Raises typer.BadParameter for anything else."""
    found = _SIZE.match(text.strip())
    if found is None or float(found[1]) <= 0:
        raise typer.BadParameter(say("fit.bad_memory", text=text))
    power = "KMGT".index(found[2].upper()) + 1
    return round(float(found[1]) * (1 << (10 * power)))


command.__doc__ = say("fit.help")
