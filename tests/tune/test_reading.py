"""What a trial's run says: its window, or why it has none. A crash, a hang, a NaN are results."""

import pytest

from pitstop.records import (
    EndOfRun,
    Event,
    EventKind,
    Evidence,
    MemorySample,
    ProcessEvents,
    Program,
    Run,
    TreeUsage,
    TrialOutcome,
)
from pitstop.tune.reading import out_of_memory, read_trial
from pitstop.tune.window import Window

MS = 1_000_000
WINDOW = Window(first=10, steps=20, whole_epochs=False)


def run_of(*, steps: int = 40, foreign: float = 0.0, **changes) -> Run:
    """40 steps of 10 ms on 2 CPUs, one of them used by the program; `foreign` = share of the machine used by others."""
    optimizer = [
        Event(kind=EventKind.OPTIMIZER, start_ns=10 * MS * i + 9 * MS, end_ns=10 * MS * (i + 1), arg=1)
        for i in range(steps)
    ]
    samples = tuple(
        MemorySample(
            time_ns=at * MS,
            rss_bytes=1 << 20,
            pss_bytes=1 << 19,
            cpu_ns=at * MS,
            processes=1,
            foreign_cpu_ns=round(at * MS * 2 * foreign),
        )
        for at in range(0, 10 * steps + 1, 10)
    )
    fields = {
        "program": Program(argv=("python", "x.py"), cwd="/"),
        "exit_code": 0,
        "started_ns": 0,
        "ended_ns": 10 * MS * steps + 5 * MS,
        "processes": (ProcessEvents(pid=1, role="main", events=tuple(optimizer)),),
        "evidence": Evidence(project_root="/"),
        "usage": TreeUsage(samples=samples, peak_rss_bytes=1 << 20, peak_pss_bytes=1 << 19, cpus=2),
        "end": EndOfRun(reason="stopped", steps=steps, loss_finite=True, last_loss=1.0),
    }
    return Run(**{**fields, **changes})


def test_the_window_is_from_step_end_to_step_end():
    trial = read_trial(run_of(), window=WINDOW, proposals=("a",))
    assert trial.outcome is TrialOutcome.MEASURED
    assert (trial.window_ns, trial.window_steps) == (200 * MS, 20)
    assert trial.ns_per_step == 10 * MS
    assert trial.first_ns == 100 * MS
    assert trial.peak_bytes == 1 << 19


@pytest.mark.parametrize(
    ("changes", "options", "outcome"),
    [
        ({"exit_code": 1}, {"error_tail": "boom\nValueError: shape\n"}, TrialOutcome.CRASHED),
        ({"exit_code": 137}, {}, TrialOutcome.OUT_OF_MEMORY),
        (
            {"exit_code": 1},
            {"error_tail": "RuntimeError: DefaultCPUAllocator: can't allocate memory"},
            TrialOutcome.OUT_OF_MEMORY,
        ),
        ({"exit_code": 137}, {"over_memory": True}, TrialOutcome.OUT_OF_MEMORY),
        ({"exit_code": 137, "timed_out": True}, {}, TrialOutcome.HUNG),
        ({"connected": False}, {}, TrialOutcome.NOT_CONNECTED),
        ({"end": EndOfRun(reason="stopped", steps=40, loss_finite=False)}, {}, TrialOutcome.NOT_FINITE),
        ({"steps": 29}, {}, TrialOutcome.TOO_FEW_STEPS),
        ({}, {"must_compile": True}, TrialOutcome.COULD_NOT_ACT),
        ({"foreign": 0.4}, {}, TrialOutcome.BUSY),
    ],
)
def test_everything_else_is_a_result_with_its_own_name(changes, options, outcome):
    trial = read_trial(run_of(**changes), window=WINDOW, proposals=("a",), **options)
    assert trial.outcome is outcome
    assert (trial.window_ns is not None) == (outcome is TrialOutcome.BUSY)


def test_load_can_be_tolerated():
    trial = read_trial(run_of(foreign=0.4), window=WINDOW, proposals=(), tolerate_load=True)
    assert trial.outcome is TrialOutcome.MEASURED
    assert trial.foreign_cpu == pytest.approx(0.4, abs=0.05)


def test_the_last_line_of_a_crash_is_kept():
    trial = read_trial(
        run_of(exit_code=1), window=WINDOW, proposals=("a",), error_tail="Traceback ...\nValueError: shape\n"
    )
    assert trial.detail == "ValueError: shape"


def test_compiled_graphs_satisfy_a_treatment_that_promises_them():
    end = EndOfRun(reason="stopped", steps=40, loss_finite=True, compiled_graphs=2, graph_breaks=1)
    trial = read_trial(run_of(end=end), window=WINDOW, proposals=("compile",), must_compile=True)
    assert trial.outcome is TrialOutcome.MEASURED
    assert (trial.compiled_graphs, trial.graph_breaks) == (2, 1)


@pytest.mark.parametrize(
    ("tail", "expected"),
    [("torch.OutOfMemoryError: CUDA out of memory.", True), ("MemoryError", True), ("KeyError: 'memory'", False)],
)
def test_out_of_memory_is_known_by_its_words(tail, expected):
    assert out_of_memory(tail) is expected
