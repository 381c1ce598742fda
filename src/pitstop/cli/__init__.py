"""The command line: one file per command."""

from pitstop.cli.app import main

__all__ = ["main"]
