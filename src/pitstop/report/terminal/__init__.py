"""Reports on the terminal, each rendered to one string."""

from pitstop.report.terminal.fit import fit_screen
from pitstop.report.terminal.pair import compare_screen, gate_screen
from pitstop.report.terminal.profile import profile_screen
from pitstop.report.terminal.tune import tune_screen

__all__ = ["compare_screen", "fit_screen", "gate_screen", "profile_screen", "tune_screen"]
