"""`pitstop tune -- CMD...`: the whole loop, from observation to a verified patch."""

from pathlib import Path

import typer

from pitstop.errors import CouldNotMeasure
from pitstop.messages import say

__all__ = ["command"]

_MOST_STEPS = 10**15  # more than any job makes


def command(
    cmd: list[str] = typer.Argument(None, metavar="-- CMD...", help=say("profile.help_command"), show_default=False),
    budget: str | None = typer.Option(None, metavar="TIME", help=say("tune.help_budget")),
    margin: float = typer.Option(0.02, min=0.0, max=1.0, help=say("tune.help_margin")),
    only: str | None = typer.Option(None, metavar="NAMES", help=say("tune.help_only")),
    skip: str | None = typer.Option(None, metavar="NAMES", help=say("tune.help_skip")),
    confirm: bool = typer.Option(False, "--confirm", help=say("tune.help_confirm")),
    metric: str | None = typer.Option(None, metavar="REGEX", help=say("tune.help_metric")),
    seed_option: str | None = typer.Option(None, metavar="OPTION", help=say("tune.help_seed_option")),
    job_steps: int | None = typer.Option(None, metavar="N", min=1, max=_MOST_STEPS, help=say("tune.help_job_steps")),
    resume: bool = typer.Option(False, "--resume", help=say("tune.help_resume")),
    more_memory: bool = typer.Option(False, "--allow-memory", help=say("tune.help_memory")),
    allow_network: bool = typer.Option(False, "--allow-network", help=say("tune.help_network")),
    unsafe_trials: bool = typer.Option(False, "--unsafe-trials", help=say("tune.help_unsafe")),
    tolerate_load: bool = typer.Option(False, "--tolerate-load", help=say("tune.help_load")),
    json: str | None = typer.Option(None, metavar="FILE", help=say("cli.help_json")),
    html: Path | None = typer.Option(None, metavar="FILE", help=say("cli.help_html")),
    run_root: Path | None = typer.Option(None, metavar="FOLDER", help=say("profile.help_run_root")),
    lang: str | None = typer.Option(None, help=say("profile.help_lang")),
) -> None:
    del lang
    from pitstop.api.tune import TuneRequest, tune_program  # noqa: PLC0415  keeps `pitstop --help` fast
    from pitstop.cli.output import check_writable, errors_as_json, write_result  # noqa: PLC0415
    from pitstop.cli.progress import tune_progress  # noqa: PLC0415
    from pitstop.report.html import tune_html  # noqa: PLC0415
    from pitstop.report.terminal import tune_screen  # noqa: PLC0415

    request = TuneRequest(
        command=tuple(cmd or ()),
        cwd=Path.cwd(),
        run_root=run_root,
        budget_s=seconds(budget) if budget is not None else None,
        margin=margin,
        only=names(only),
        skip=names(skip),
        confirm=confirm,
        metric=metric,
        seed_option=seed_option,
        job_steps=job_steps,
        resume=resume,
        more_memory=more_memory,
        allow_network=allow_network,
        unsafe_trials=unsafe_trials,
        tolerate_load=tolerate_load,
    )
    check_writable(json, html)
    with errors_as_json(json, run_root=run_root), tune_progress() as progress:
        result = tune_program(request, progress=progress)
    write_result(result, json=json, html=html, page=tune_html, screen=tune_screen)
    if result.nothing_measured:
        raise typer.Exit(CouldNotMeasure.exit_code)


def names(text: str | None) -> tuple[str, ...]:
    """Split a comma-separated option."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def seconds(text: str) -> float:
    """Read "90s", "10m" or "1h" as seconds. Raises typer.BadParameter for anything else: "10" meant minutes to some."""
    try:
        value = float(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1:]]
    except (ValueError, KeyError):
        value = -1.0
    if not 0 < value < float("inf"):
        raise typer.BadParameter(say("tune.bad_budget", text=text))
    return value


command.__doc__ = say("tune.help")
