"""What a run used of the machine: rates of the steady part, memory's slope, one entry per GPU; and None for what is not known."""

import msgspec
import pytest

from pitstop.api.utilisation import utilisation
from pitstop.records import (
    Evidence,
    GpuSample,
    MemorySample,
    ProcessUsage,
    Program,
    Run,
    Steps,
    SystemSample,
    ThreadUsage,
    TreeUsage,
)

S = 1_000_000_000
STEPS = Steps(clock="optimizer", start_ns=S, ends_ns=tuple(range(2 * S, 12 * S, S)), samples=(0,) * 10, warmup=2)


def run(usage: TreeUsage) -> Run:
    return Run(
        program=Program(argv=("train",), cwd="/"),
        exit_code=0,
        started_ns=0,
        ended_ns=12 * S,
        processes=(),
        evidence=Evidence(project_root="/"),
        usage=usage,
    )


def memory(time_s: int, rss: int, cpu_s: float = 0.0) -> MemorySample:
    return MemorySample(time_ns=time_s * S, rss_bytes=rss, cpu_ns=round(cpu_s * S), processes=1, foreign_cpu_ns=0)


def gpu(time_s: int, **fields) -> GpuSample:
    values = {"index": 0, "name": "NVIDIA H200", "utilisation": 0.5, "used_bytes": 10, "total_bytes": 100} | fields
    return GpuSample(time_ns=time_s * S, **values)


def test_processors_are_those_of_the_steady_part():
    samples = tuple(memory(second, 1000, cpu_s=0 if second < 3 else (second - 3) * 2) for second in range(12))
    said = utilisation(run(TreeUsage(samples=samples, cpus=4, throttled_ns=5)), STEPS)
    assert said["cpu"] == pytest.approx(0.5)
    assert (said["cpus"], said["throttled_ns"]) == (4, 5)
    assert said["timeline"][-1] == [11.0, 0.5]


def test_memory_that_grows_has_a_slope_and_warm_up_does_not_count():
    samples = tuple(memory(second, 9_000_000 if second < 3 else 1000 * second) for second in range(12))
    said = utilisation(run(TreeUsage(samples=samples)), STEPS)["memory"]
    assert (said["bytes_per_s"], said["explained"]) == (1000, 1.0)
    assert said["timeline"][0] == [0.0, 9_000_000, None]
    few = utilisation(run(TreeUsage(samples=samples[:5])), STEPS)["memory"]
    assert (few["bytes_per_s"], few["explained"]) == (None, None)


def test_counts_of_the_kernel_are_per_second():
    system = tuple(
        SystemSample(
            time_ns=second * S,
            minor_faults=100 * second,
            involuntary_switches=7 * second,
            read_bytes=second << 20,
            io_wait_ns=second * S // 2,
            shared_bytes=second,
        )
        for second in (1, 4, 8)
    )
    usage = TreeUsage(
        system=system,
        processes=(ProcessUsage(pid=5, name="python", cpu_ns=9, peak_rss_bytes=8),),
        threads=(ThreadUsage(pid=5, tid=6, name="pt_autograd_0", cpu_ns=3, involuntary=2),),
    )
    said = utilisation(run(usage), STEPS)
    assert said["system"]["minor_faults_per_s"] == 100.0
    assert said["system"]["involuntary_switches_per_s"] == 7.0
    assert said["system"]["read_bytes_per_s"] == float(1 << 20)
    assert (said["system"]["io_wait"], said["system"]["shared_bytes"]) == (0.5, 8)
    assert said["processes"] == [["python", 5, 9, 8]]
    assert said["threads"] == [["pt_autograd_0", 5, 6, 3, 2]]
    assert utilisation(run(msgspec.structs.replace(usage, system=system[:1])), STEPS)["system"] is None


def test_each_gpu_has_its_timeline_and_what_slowed_it():
    gpus = (
        gpu(1, utilisation=0.0, used_bytes=90),
        gpu(4, clock_mhz=1200, most_clock_mhz=1980, throttled_by=("power cap",), received_bytes_per_s=100),
        gpu(5, utilisation=0.7, clock_mhz=1400, power_w=400.0),
        gpu(5, index=1, name="NVIDIA L4", utilisation=None),
    )
    first, second = utilisation(run(TreeUsage(gpus=gpus)), STEPS)["gpus"]
    assert (first["name"], first["utilisation"], first["peak_bytes"]) == ("NVIDIA H200", pytest.approx(0.6), 90)
    assert (first["clock_mhz"], first["throttled_by"], first["power_w"]) == (1300, ["power cap"], 400.0)
    assert first["timeline"] == [[1.0, 0.0], [4.0, 0.5], [5.0, 0.7]]
    assert first["received_bytes_per_s"] == 100
    assert (second["index"], second["utilisation"], second["timeline"]) == (1, None, [])


def test_a_run_without_steps_has_means_over_all_of_it():
    samples = tuple(memory(second, 1000, cpu_s=second) for second in range(3))
    assert utilisation(run(TreeUsage(samples=samples, cpus=2)), None)["cpu"] == pytest.approx(0.5)
