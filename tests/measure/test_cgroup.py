"""Limits are read from trees like those of v1, v2 and a container."""

from pathlib import Path

from pitstop.measure.cgroup import read_limits, read_throttled_ns


def _tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_version_2_takes_the_tightest_limit_on_the_way_up(tmp_path):
    root = _tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/user/job\n",
            "sys/fs/cgroup/user/job/cpu.max": "max 100000\n",
            "sys/fs/cgroup/user/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/user/job/memory.max": "max\n",
            "sys/fs/cgroup/user/memory.max": str(4 << 30),
            "sys/fs/cgroup/user/memory.current": str(3 << 30),
            "sys/fs/cgroup/user/memory.stat": f"anon 5\ninactive_file {1 << 30}\n",
            "sys/fs/cgroup/user/job/cpu.stat": "usage_usec 1\nthrottled_usec 250\n",
        },
    )
    limits = read_limits(root)
    assert (limits.cpus, limits.memory_bytes, limits.memory_free_bytes) == (1.5, 4 << 30, 2 << 30)
    assert read_throttled_ns(root) == 250_000


def test_version_1_has_a_folder_for_each_controller(tmp_path):
    root = _tree(
        tmp_path,
        {
            "proc/self/cgroup": "5:memory:/box\n3:cpu,cpuacct:/box\n1:name=systemd:/\n",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.stat": "nr_periods 4\nthrottled_time 777\n",
            "sys/fs/cgroup/memory/box/memory.limit_in_bytes": str(1 << 30),
            "sys/fs/cgroup/memory/box/memory.usage_in_bytes": str(1 << 28),
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    limits = read_limits(root)
    assert (limits.cpus, limits.memory_bytes, limits.memory_free_bytes) == (0.5, 1 << 30, (1 << 30) - (1 << 28))
    assert read_throttled_ns(root) == 777


def test_a_container_sees_its_own_group_as_the_top(tmp_path):
    """Without a cgroup namespace the path is the host's, which is not there."""
    root = _tree(tmp_path, {"proc/self/cgroup": "0::/docker/abc\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"})
    assert read_limits(root).cpus == 2.0


def test_no_quota_and_no_cgroups_are_no_limit(tmp_path):
    root = _tree(tmp_path, {"proc/self/cgroup": "3:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n"})
    assert read_limits(root).cpus is None
    assert read_limits(tmp_path / "nothing").memory_bytes is None
    assert read_throttled_ns(tmp_path / "nothing") is None
