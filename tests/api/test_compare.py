"""Stored runs side by side."""

import msgspec
import pytest

from pitstop.api.compare import compare_runs
from pitstop.errors import WrongUse
from pitstop.records.results import (
    SCHEMA,
    BaselineMemory,
    EnvironmentResult,
    Overhead,
    ProfileResult,
    ProgramResult,
    StepStatistics,
)
from pitstop.report.json import to_json
from pitstop.report.terminal import compare_screen


def profile(step_ns: int | None, *, samples: float | None = 32.0, threads: int = 2) -> ProfileResult:
    return ProfileResult(
        schema=SCHEMA,
        program=ProgramResult(command=("python", "train.py"), cwd="/p", exit_code=0, torch="2.13.0"),
        steps=StepStatistics(
            count=100, warmup=3, mean_ns=step_ns, median_ns=step_ns, p90_ns=None, samples_per_step=samples
        ),
        memory=BaselineMemory(peak_rss_bytes=1 << 30, peak_device_bytes=None),
        utilisation={},
        ledger={"forward": 0.75, "data_wait": 0.25},
        findings=(),
        not_measured=(),
        overhead=Overhead(per_step_ns=None, share=None),
        environment=EnvironmentResult(threads=threads),
    )


@pytest.fixture
def runs(tmp_path):
    def write(name: str, result: ProfileResult | None) -> str:
        folder = tmp_path / ".pitstop" / "runs" / name
        folder.mkdir(parents=True)
        (folder / "run.json").write_text("{}")
        if result is not None:
            (folder / "profile.json").write_bytes(to_json(msgspec.structs.replace(result, run_folder=str(folder))))
        return name

    return tmp_path, write


def test_times_are_compared_per_sample_where_both_know_theirs(runs):
    root, write = runs
    a, b = write("a", profile(10_000_000, samples=32)), write("b", profile(15_000_000, samples=64, threads=1))
    found = compare_runs(root, a=a, b=b)
    assert found.by_sample
    assert found.ratio == pytest.approx((10 / 32) / (15 / 64))
    assert found.a.ledger_ns == {"forward": 7_500_000, "data_wait": 2_500_000}
    assert found.differences == ("They differ in threads: 2 and 1.",)


def test_without_samples_by_step(runs):
    root, write = runs
    found = compare_runs(root, a=write("a", profile(10_000_000, samples=None)), b=write("b", profile(5_000_000)))
    assert (found.by_sample, found.ratio) == (False, 2.0)


@pytest.mark.parametrize(
    ("result", "key"),
    [(None, "cli.unfinished_run"), (profile(None), "compare.no_steps")],
    ids=["incomplete", "no-steps"],
)
def test_what_cannot_be_compared_is_refused(runs, result, key):
    root, write = runs
    a, b = write("a", profile(10_000_000)), write("b", result)
    with pytest.raises(WrongUse) as error:
        compare_runs(root, a=a, b=b)
    assert error.value.key == key


def test_a_foreign_folder_is_refused(runs, tmp_path):
    root, write = runs
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(WrongUse):
        compare_runs(root, a=write("a", profile(10_000_000)), b=str(tmp_path / "elsewhere"))


def test_steps_are_laid_side_by_side_too(runs):
    root, write = runs
    found = compare_runs(root, a=write("a", profile(10_000_000)), b=write("b", profile(5_000_000)))
    assert (found.a.steps, found.a.median_ns, found.b.median_ns) == (100, 10_000_000, 5_000_000)
    screen = compare_screen(found)
    assert "10.0 ms → 5.00 ms" in screen
    assert "100 → 100" in screen
