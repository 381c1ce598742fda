import os

from pitstop.measure.machine import available_memory_bytes, fingerprint, read_machine


def test_a_quota_counts_whole_processors(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal: 8000 kB\nMemAvailable: 6000 kB\n")
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text("50000 100000\n")
    machine = read_machine(tmp_path)
    assert (machine.cpus, machine.quota_cpus, machine.memory_bytes, machine.available_bytes) == (
        1,
        0.5,
        8_192_000,
        6_144_000,
    )


def test_a_memory_limit_of_the_group_counts(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal: 8000 kB\nMemAvailable: 6000 kB\n")
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("1000000\n")
    (tmp_path / "sys/fs/cgroup/memory.current").write_text("400000\n")
    machine = read_machine(tmp_path)
    assert (machine.memory_bytes, machine.available_bytes) == (1_000_000, 600_000)


def test_affinity_is_this_processes_own():
    before = os.sched_getaffinity(0)
    one = min(before)
    os.sched_setaffinity(0, {one})
    try:
        assert read_machine().affinity == (one,)
        assert read_machine().cpus == 1
    finally:
        os.sched_setaffinity(0, before)


def test_this_machine_has_memory_and_a_name():
    assert 0 < available_memory_bytes() <= read_machine().memory_bytes
    found = fingerprint()
    assert found == fingerprint(), "the same machine has the same fingerprint"
    assert found["cpu_model"]
    assert all(isinstance(value, str) for value in found.values())
