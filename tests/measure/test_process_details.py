"""Counts of the kernel: summed over the tree, kept when processes end, and bounded."""

import os
import subprocess
import sys

import pytest

from pitstop.measure.process_details import ProcessDetails

WORK = """
import mmap, os, sys, threading, time
memory = mmap.mmap(-1, 8 << 20)  # shared
memory.write(b"x" * (8 << 20))
with open(sys.argv[1], "wb") as file:
    file.write(b"x" * (1 << 20))
    file.flush()
    os.fsync(file.fileno())
def burn():
    while time.thread_time() < 0.2:
        pass
thread = threading.Thread(target=burn)
thread.start()
thread.join()
for _ in range(50):
    time.sleep(0.001)
print("ready", flush=True)
sys.stdin.read()
"""


def stat(start: int, **fields: int) -> str:
    values = ["0"] * 45
    numbers = {"minor": 7, "major": 9, "user": 11, "system": 12, "waited": 39}
    for name, value in fields.items():
        values[numbers[name]] = str(value)
    values[19] = str(start)
    return f"1 (a (name)) {' '.join(values)}"


def write_process(proc, pid: int, *, start: int, tids: dict[int, int], **fields: int) -> None:
    folder = proc / str(pid)
    for tid, involuntary in tids.items():
        (folder / "task" / str(tid)).mkdir(parents=True, exist_ok=True)
        (folder / "task" / str(tid) / "stat").write_text(stat(start, **fields))
        (folder / "task" / str(tid) / "status").write_text(
            f"Name:\tx\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t{involuntary}\n"
        )
    (folder / "stat").write_text(stat(start, **fields))
    (folder / "io").write_text("rchar: 1\nread_bytes: 4096\nwrite_bytes: 512\n")
    (folder / "status").write_text("VmHWM:\t2000 kB\nRssShmem:\t100 kB\n")


def test_counts_are_summed_over_processes_and_threads(tmp_path):
    write_process(tmp_path, 5, start=1, tids={5: 10, 6: 20}, minor=7, major=2, user=3, waited=1)
    write_process(tmp_path, 9, start=2, tids={9: 5}, minor=1, user=8)
    details = ProcessDetails(tmp_path)
    seen = details.read([5, 9, 77], 123)
    assert (seen.time_ns, seen.minor_faults, seen.major_faults) == (123, 8, 2)
    assert (seen.read_bytes, seen.written_bytes, seen.shared_bytes) == (8192, 1024, 200 * 1024)
    assert (seen.involuntary_switches, seen.voluntary_switches) == (35, 3)
    assert seen.io_wait_ns == 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    assert [one.pid for one in details.processes()] == [9, 5]
    assert details.processes()[0].peak_rss_bytes == 2000 * 1024
    assert [(one.pid, one.tid, one.involuntary) for one in details.threads()] == [(9, 9, 5), (5, 5, 10), (5, 6, 20)]
    assert details.threads()[0].name == "a (name)"


def test_what_ended_stays_counted_and_its_number_may_come_back(tmp_path):
    write_process(tmp_path, 5, start=1, tids={5: 10}, minor=7)
    details = ProcessDetails(tmp_path)
    details.read([5], 1)
    write_process(tmp_path, 5, start=99, tids={5: 1}, minor=2)
    seen = details.read([5], 2)
    assert (seen.minor_faults, seen.involuntary_switches) == (9, 11)
    seen = details.read([], 3)
    assert (seen.minor_faults, seen.shared_bytes) == (9, 0)


@pytest.mark.parametrize("text", ["", "1 (cut", "1 (x) 0 0"])
def test_a_file_that_is_cut_is_left_out(tmp_path, text):
    (tmp_path / "5").mkdir()
    (tmp_path / "5" / "stat").write_text(text)
    assert ProcessDetails(tmp_path).read([5], 1).minor_faults == 0


def test_the_kernel_counts_a_real_process(tmp_path):
    command = [sys.executable, "-c", WORK, str(tmp_path / "written")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        details = ProcessDetails()
        seen = details.read([process.pid], 1)
        process.communicate()
    assert seen.minor_faults >= 2048, "8 MiB were touched page by page"
    assert seen.voluntary_switches >= 50, "it slept fifty times"
    assert seen.shared_bytes >= 8 << 20
    (one,) = details.processes()
    assert one.peak_rss_bytes >= 8 << 20
    assert one.cpu_ns >= 150_000_000
