"""Frozen values that the layers hand to each other, and nothing else: no I/O, no arithmetic beyond a ratio."""

from pitstop.records.events import Event, EventKind, Mark
from pitstop.records.evidence import (
    AnomalySighting,
    ArgparseOption,
    BackwardSighting,
    DrainedLoader,
    EnvironmentSighting,
    Evidence,
    ForwardSighting,
    LoaderSighting,
    ModuleNames,
    OptimizerSighting,
    ProbeFault,
    Sighting,
    Site,
)
from pitstop.records.run import EndOfRun, MemorySample, ProcessEvents, Program, Run, TreeUsage
from pitstop.records.steps import CATEGORIES, Category, Ledger, StepClock, Steps
from pitstop.records.treatments import CannotApply, Change, Numerics, Proposal
from pitstop.records.verdicts import Gate, Prescription, Trial, TrialOutcome, Verdict, VerdictKind

__all__ = [
    "CATEGORIES",
    "AnomalySighting",
    "ArgparseOption",
    "BackwardSighting",
    "CannotApply",
    "Category",
    "Change",
    "DrainedLoader",
    "EndOfRun",
    "EnvironmentSighting",
    "Event",
    "EventKind",
    "Evidence",
    "ForwardSighting",
    "Gate",
    "Ledger",
    "LoaderSighting",
    "Mark",
    "MemorySample",
    "ModuleNames",
    "Numerics",
    "OptimizerSighting",
    "Prescription",
    "ProbeFault",
    "ProcessEvents",
    "Program",
    "Proposal",
    "Run",
    "Sighting",
    "Site",
    "StepClock",
    "Steps",
    "TreeUsage",
    "Trial",
    "TrialOutcome",
    "Verdict",
    "VerdictKind",
]
