"""Treatments: what could make the program faster, and the source edits for it. Texts in, texts out."""

from pitstop.treat.build import build_change, propose_all
from pitstop.treat.contract import CannotEdit, Treatment, View
from pitstop.treat.diff import decode_source, unified_diff
from pitstop.treat.launch import launch_line
from pitstop.treat.registry import TREATMENTS, treatment_named

__all__ = [
    "TREATMENTS",
    "CannotEdit",
    "Treatment",
    "View",
    "build_change",
    "decode_source",
    "launch_line",
    "propose_all",
    "treatment_named",
    "unified_diff",
]
