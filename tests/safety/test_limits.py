"""A trial that takes too much is ended, and the run says what it took too much of."""

import msgspec

HOG = "block = bytearray(400 << 20)\nfor i in range(0, len(block), 4096): block[i] = 1\nimport time\nwhile True: time.sleep(1)"


def test_memory_over_the_limit_ends_the_trial(trials):
    run = trials.run(HOG, memory_limit_bytes=200 << 20)
    assert (run.over_memory, run.ended_by, run.exit_code, run.timed_out) == (True, "memory", 137, False)
    assert run.usage.peak_rss_bytes > 200 << 20


def test_memory_of_children_counts_together(trials_in):
    """Each of three is below the limit, together they are over it."""
    text = "import os\nfor _ in range(2):\n    if os.fork() == 0: break\n" + HOG.replace("400", "150")
    run = trials_in("overlay").run(text, memory_limit_bytes=350 << 20)
    assert (run.over_memory, run.exit_code) == (True, 137)


def test_pages_shared_by_children_count_once(trials_in):
    """Four processes show 4 x 200 MiB resident, but it is the same memory: no reason to end anything."""
    trials = trials_in("overlay")
    text = """
import os, time
block = bytearray(200 << 20)
for i in range(0, len(block), 4096): block[i] = 1
children = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        sum(block[i] for i in range(0, len(block), 4096)); time.sleep(1.5); os._exit(0)
    children.append(pid)
for pid in children: os.waitpid(pid, 0)
"""
    run = trials.run(text, memory_limit_bytes=500 << 20)
    assert (run.exit_code, run.ended_by) == (0, "program"), trials.stderr
    assert run.usage.peak_rss_bytes > 500 << 20
    assert run.usage.peak_pss_bytes < 500 << 20


FILLER = """
import time
with open("full.bin", "wb") as file:
    while True:
        file.write(bytes(1 << 20)); file.flush()
        if file.tell() > 400 << 20: time.sleep(1000)
"""


def test_a_full_disk_ends_the_trial(trials):
    plan = msgspec.structs.replace(trials.plan, disk_limit_bytes=100 << 20)
    run = trials.run(FILLER, plan=plan)
    assert (run.ended_by, run.exit_code) == ("disk", 137)


def test_layers_in_memory_have_a_size(trials_in):
    """There the program itself is told: no space left."""
    trials = trials_in("tmpfs")
    run = trials.run(FILLER)
    assert run.exit_code == 1
    assert "No space left" in trials.stderr
