"""Shared memory of a trial ends with it, under any of its three interfaces; everybody else's stays."""

from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

LEAVE = """
import ctypes, os
from multiprocessing import resource_tracker, shared_memory
block = shared_memory.SharedMemory("pitstop-test-left", create=True, size=1 << 20)
resource_tracker.unregister(block._name, "shared_memory")  # as a process that is killed would
open("/dev/shm/sem.pitstop-test", "wb").write(b"x" * 32)
libc = ctypes.CDLL(None)
print(libc.shmget(0x7157, 4096, 0o1600))
os._exit(0)
"""


def _system_v_keys() -> set[int]:
    rows = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return {int(row.split()[0]) for row in rows}


def test_shared_memory_that_was_left_is_removed(trials):
    """The fixture checks /dev/shm; two trials in a row can use the same names."""
    for _ in range(2):
        run = trials.run(LEAVE)
        assert run.exit_code == 0, trials.stderr
        assert int(trials.stdout) >= 0
        assert 0x7157 not in _system_v_keys()


def test_a_segment_is_removed_where_there_is_no_ipc_namespace(trials_in):
    trials = trials_in("copy-no-tcp")
    run = trials.run(LEAVE)
    assert run.exit_code == 0, trials.stderr
    assert 0x7157 not in _system_v_keys()


def test_shared_memory_of_others_stays(trials):
    block = SharedMemory(create=True, size=4096)
    try:
        assert trials.run("import os; print(os.listdir('/dev/shm'))").exit_code == 0
        if trials.plan.kind == "overlay":
            assert trials.stdout == "[]\n", "the trial starts with none"
        again = SharedMemory(block.name)
        again.close()
    finally:
        block.close()
        block.unlink()
