"""A program that was killed: for its memory only where the kernel says that it killed for memory meanwhile."""

import pytest

from pitstop.measure import limits
from pitstop.records import Evidence, Program, Run, TreeUsage


def killed(exit_code: int, ended_by: str = "program") -> Run:
    return Run(
        program=Program(argv=("true",), cwd="/"),
        exit_code=exit_code,
        started_ns=0,
        ended_ns=1,
        processes=(),
        evidence=Evidence(project_root="/"),
        usage=TreeUsage(),
        ended_by=ended_by,
    )


@pytest.mark.parametrize(
    ("run", "kills", "is_memory"),
    [
        (killed(137), 4, True),
        (killed(137), 3, False),  # somebody else's kill -9
        (killed(1), 4, False),
        (killed(137, "timeout"), 4, False),  # ours
    ],
)
def test_only_a_kill_that_the_kernel_counts_is_for_memory(monkeypatch, run, kills, is_memory):
    monkeypatch.setattr(limits, "kernel_oom_kills", lambda: kills)
    judged = limits.with_kernels_verdict(run, oom_kills_before=3)
    assert judged.over_memory is is_memory
    assert judged.ended_by == ("memory" if is_memory else run.ended_by)
