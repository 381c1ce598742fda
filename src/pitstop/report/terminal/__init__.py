"""Reports on the terminal, each rendered to one string."""

from pitstop.report.terminal.profile import profile_screen
from pitstop.report.terminal.tune import tune_screen

__all__ = ["profile_screen", "tune_screen"]
