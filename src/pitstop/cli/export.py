"""`pitstop export [RUN]`: log a stored run to MLflow or TensorBoard."""

import sys
from pathlib import Path

import typer

from pitstop.messages import say

__all__ = ["command"]


def command(
    run: str | None = typer.Argument(None, metavar="[RUN]", help=say("cli.help_run"), show_default=False),
    mlflow: str | None = typer.Option(None, metavar="URI", help=say("export.help_mlflow")),
    experiment: str = typer.Option("pitstop", metavar="NAME", help=say("export.help_experiment")),
    tensorboard: Path | None = typer.Option(None, metavar="FOLDER", help=say("export.help_tensorboard")),
    run_root: Path | None = typer.Option(None, metavar="FOLDER", help=say("profile.help_run_root")),
    lang: str | None = typer.Option(None, help=say("profile.help_lang")),
) -> None:
    del lang
    from pitstop.api.export import export_run  # noqa: PLC0415  keeps `pitstop --help` fast

    lines = export_run(
        run_root or Path.cwd(), wanted=run, mlflow=mlflow, experiment=experiment, tensorboard=tensorboard
    )
    sys.stderr.write("\n".join(lines) + "\n")


command.__doc__ = say("export.help")
