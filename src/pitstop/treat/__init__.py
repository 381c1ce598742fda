"""Treatments: what could make the program faster, and the source edits for it. Texts in, texts out."""

from pitstop.treat.build import build_change, propose_all
from pitstop.treat.contract import CannotEdit, LoaderRoles, Treatment, View
from pitstop.treat.diff import decode_source, unified_diff
from pitstop.treat.launch import launch_line
from pitstop.treat.registry import TREATMENTS, treatment_named
from pitstop.treat.roles import loader_roles

__all__ = [
    "TREATMENTS",
    "CannotEdit",
    "LoaderRoles",
    "Treatment",
    "View",
    "build_change",
    "decode_source",
    "launch_line",
    "loader_roles",
    "propose_all",
    "treatment_named",
    "unified_diff",
]
