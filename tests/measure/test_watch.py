"""The watch counts what ended, leaves out the launcher, and costs next to nothing."""

import os
import signal
import subprocess
import sys
import time

from pitstop.measure.process_tree import ProcessTree, read_pss_bytes
from pitstop.measure.watch import Watch

BURN = "import time\nwhile time.process_time() < {}: pass"


def _started(text: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert process.stdout.readline() == "ready\n"
    return process


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_children_that_ended_stay_counted():
    process = _started(
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURN.format(0.5)!r}])\nprint('ready', flush=True)\ninput()"
    )
    tree = ProcessTree(process.pid)
    reading = tree.read()
    assert reading.pids == (process.pid,)
    assert reading.cpu_ns >= 450_000_000
    _end(process)
    assert tree.read().pids == ()
    assert tree.read().cpu_ns == reading.cpu_ns


def test_a_process_once_seen_is_followed_after_its_parent_ended():
    process = _started(
        "import subprocess\np = subprocess.Popen(['sleep', '1000'])\nprint('ready', flush=True)\ninput()"
    )
    tree = ProcessTree(process.pid)
    assert len(tree.read().pids) == 2
    _end(process)
    (orphan,) = tree.read().pids
    os.kill(orphan, signal.SIGKILL)


def test_generations_of_the_launcher_are_left_out():
    child = BURN.format(0.3) + "\nprint('up', flush=True)\ninput()"
    text = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {child!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print("ready", flush=True)
input()
"""
    process = _started(text)
    with_launcher, without = ProcessTree(process.pid), ProcessTree(process.pid, launchers=1)
    everything, program = with_launcher.read(), without.read()
    assert len(everything.pids) == 2
    assert len(program.pids) == 1
    assert process.pid not in without.ever
    assert program.rss_bytes < everything.rss_bytes
    children = program.pids
    _end(process)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def test_strangers_are_not_part_of_the_tree():
    process = _started("print('ready', flush=True)\ninput()")
    other = _started("print('ready', flush=True)\ninput()")
    assert other.pid not in ProcessTree(process.pid).read().pids
    _end(other)
    _end(process)


def test_memory_is_what_the_process_holds():
    process = _started("block = b'x' * (80 << 20)\nprint('ready', flush=True)\ninput()")
    reading = ProcessTree(process.pid).read()
    assert 80 << 20 <= reading.rss_bytes < 140 << 20
    assert 80 << 20 <= read_pss_bytes([process.pid]) <= reading.rss_bytes
    _end(process)
    assert read_pss_bytes([process.pid]) is None


def test_others_and_the_tree_are_told_apart():
    """Somebody else burns 0.4 s while the watched program waits: it is foreign, and not the program's."""
    process = _started("print('ready', flush=True)\ninput()")
    with Watch(process.pid) as watch:
        before = watch.sample()
        subprocess.run([sys.executable, "-c", BURN.format(0.4)], check=True)
        after = watch.sample()
    assert after.foreign_cpu_ns - before.foreign_cpu_ns >= 300_000_000
    assert after.cpu_ns - before.cpu_ns < 100_000_000
    _end(process)


def test_the_watch_takes_at_most_a_hundredth_of_one_core():
    """By its own CPU time, whatever else the machine does. Starting up is not part of it."""
    process = _started("print('ready', flush=True)\ninput()")
    with Watch(process.pid) as watch:
        watch.sample()
        start_ns, start_cpu_ns = time.monotonic_ns(), time.process_time_ns()
        time.sleep(2.5)
        cost = (time.process_time_ns() - start_cpu_ns) / (time.monotonic_ns() - start_ns)
    usage = watch.usage()
    _end(process)
    assert cost < 0.015
    assert len(usage.samples) >= 2
    assert usage.peak_rss_bytes > 1 << 20


def test_the_kernels_totals_at_the_end_win_over_the_last_sample():
    process = _started("print('ready', flush=True)\ninput()")
    with Watch(process.pid) as watch:
        watch.sample()
    _end(process)
    usage = watch.usage(cpu_ns=10**12, peak_process_bytes=1 << 40)
    assert usage.samples[-1].cpu_ns == 10**12
    assert usage.peak_rss_bytes == 1 << 40
