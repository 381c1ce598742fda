"""The `pitstop` command: language, commands, and what an error looks like and exits with."""

import contextlib
import signal
import sys
from collections.abc import Iterator, Sequence

import typer

from pitstop.errors import PitstopError, WrongUse, full_disks_said
from pitstop.messages import LANGUAGES, choose_language, say
from pitstop.report.plain import plain

__all__ = ["main"]

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command in `arguments` (default: the process's) and exit with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    wanted = _wanted_language(given)
    choose_language(wanted if wanted in LANGUAGES else None)
    try:
        if wanted is not None and wanted not in LANGUAGES:
            raise WrongUse("cli.bad_language", wanted=wanted, known=", ".join(LANGUAGES))
        with _interruption_passed_on(), full_disks_said():
            _app()(given, prog_name="pitstop")
    except PitstopError as error:
        if error.program_output:
            sys.stderr.write(error.program_output.rstrip("\n") + "\n")
        sys.stderr.write(f"pitstop: {plain(say(error.key, **error.values))}\n")
        sys.exit(error.exit_code)
    except _Interrupted:
        sys.stderr.write(f"\npitstop: {say('cli.interrupted')}\n")
        sys.exit(_INTERRUPTED)


class _Interrupted(BaseException):
    """Ctrl-C. Not KeyboardInterrupt, which typer ends the process at without a word."""


@contextlib.contextmanager
def _interruption_passed_on() -> Iterator[None]:
    def interrupt(_number: int, _frame: object) -> None:
        raise _Interrupted

    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # not where it is ignored, nor outside of the main thread
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, before)


def _wanted_language(given: list[str]) -> str | None:
    """Find --lang before anything is built, since help texts are in the language too."""
    own = given[: given.index("--")] if "--" in given else given
    for index, argument in enumerate(own):
        if argument == "--lang" and index + 1 < len(own):
            return own[index + 1]
        if argument.startswith("--lang="):
            return argument.removeprefix("--lang=")
    return None


def _show_version(value: bool) -> None:
    if value:
        from pitstop import __version__  # noqa: PLC0415

        typer.echo(f"pitstop {__version__}")
        raise typer.Exit


def _app() -> typer.Typer:
    from pitstop.cli import compare, export, fit, gate, profile, report, tune  # noqa: PLC0415  after the language is known: help texts are read at import

    app = typer.Typer(
        help=say("cli.help"),
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    @app.callback()
    def options(  # pyright: ignore[reportUnusedFunction]
        lang: str | None = typer.Option(None, help=say("cli.help_lang", languages="|".join(LANGUAGES))),
        version: bool = typer.Option(
            False, "--version", help=say("cli.help_version"), is_eager=True, callback=_show_version
        ),
    ) -> None:
        del lang, version

    for command in (
        profile.command,
        tune.command,
        fit.command,
        gate.command,
        compare.command,
        report.command,
        export.command,
    ):
        app.command(name=command.__module__.rsplit(".", 1)[-1], help=command.__doc__)(command)
    return app
