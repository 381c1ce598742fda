"""The event file: what is recorded is there, whatever happens to the process, the file or the disk."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pitstop.measure.events import read_events
from pitstop.probe import recorder as layout
from pitstop.probe.recorder import CHUNK_BYTES, FORWARD, HEADER, RECORD, Recorder
from pitstop.records import EventKind


class Faults(list):
    def __call__(self, where, error):
        self.append((where, str(error)))


@pytest.fixture
def faults():
    return Faults()


def only_file(folder):
    (path,) = Path(folder).glob("*.events")
    return read_events(path)


def test_the_kinds_are_those_of_the_records():
    """Two lists of numbers, one meaning: the probe may not import the records."""
    assert {kind.name: int(kind) for kind in EventKind} == {kind.name: getattr(layout, kind.name) for kind in EventKind}


def test_what_is_recorded_is_read_back(tmp_path, faults):
    recorder = Recorder(str(tmp_path), faults)
    assert not recorder.is_open
    recorder.record(FORWARD, 7, 100, 250, -3, 2)
    event = only_file(tmp_path).events[0]
    assert (event.kind, event.arg, event.start_ns, event.end_ns, event.value, event.flags, event.thread) == (
        EventKind.FORWARD,
        7,
        100,
        250,
        -3,
        2,
        0,
    )
    assert recorder.is_open
    assert faults == []


def test_nothing_is_written_before_the_first_event(tmp_path, faults):
    Recorder(str(tmp_path), faults)
    assert list(tmp_path.iterdir()) == []


def test_more_events_than_one_chunk_holds(tmp_path, faults):
    recorder = Recorder(str(tmp_path), faults)
    count = 3 * CHUNK_BYTES // RECORD.size + 17
    for number in range(1, count + 1):
        recorder.record(FORWARD, 1, number, number + 1)
    recorder.close()
    assert [event.start_ns for event in only_file(tmp_path).events] == list(range(1, count + 1))
    assert next(tmp_path.glob("*.events")).stat().st_size == 4 * CHUNK_BYTES


def test_threads_get_small_numbers_and_lose_nothing(tmp_path, faults):
    recorder = Recorder(str(tmp_path), faults)
    recorder.record(FORWARD, 0, 1, 2)
    ready = threading.Barrier(4)  # alive together, so that no thread inherits the ident of another

    def work(number):
        ready.wait()
        for index in range(2000):
            recorder.record(FORWARD, number, index + 1, index + 2)
        ready.wait()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.flush()
    events = only_file(tmp_path).events
    assert len(events) == 8001
    by_thread = {thread: {event.arg for event in events if event.thread == thread} for thread in range(5)}
    assert by_thread[0] == {0}
    assert sorted(by_thread[thread].pop() for thread in range(1, 5)) == [1, 2, 3, 4]
    assert all(not left for thread, left in by_thread.items() if thread)


def test_a_full_file_ends_recording_and_says_so_once(tmp_path, faults):
    recorder = Recorder(str(tmp_path), faults, capacity_bytes=CHUNK_BYTES)
    room = (CHUNK_BYTES - HEADER.size) // RECORD.size
    for number in range(room + 100):
        recorder.record(FORWARD, 1, number + 1, number + 2)
    recorder.flush()
    assert len(only_file(tmp_path).events) == room
    assert len(faults) == 1
    assert "full" in faults[0][1]


def test_recording_after_close_is_safe(tmp_path, faults):
    """Daemon threads of the program may still be at it while the interpreter ends."""
    recorder = Recorder(str(tmp_path), faults)
    recorder.record(FORWARD, 1, 1, 2)
    recorder.close()
    for number in range(2 * CHUNK_BYTES // RECORD.size):
        recorder.record(FORWARD, 1, number + 1, number + 2)
    assert faults == []


def test_a_bad_value_is_a_fault_and_no_exception(tmp_path, faults):
    recorder = Recorder(str(tmp_path), faults)
    recorder.record(FORWARD, "seven", 1, 2)
    assert faults[0][0] == "recorder.record"


def test_an_unwritable_folder_is_a_fault_and_no_exception(tmp_path, faults):
    recorder = Recorder(str(tmp_path / "gone"), faults)
    recorder.record(FORWARD, 1, 1, 2)
    recorder.record(FORWARD, 1, 1, 2)
    assert len(faults) == 1


def in_child(tmp_path, code):
    head = (
        "import os, signal, sys\nfrom pitstop.probe.recorder import Recorder, FORWARD, RECORD, CHUNK_BYTES\n"
        "def fault(where, error): print('fault', type(error).__name__, error)\nfolder = sys.argv[1]\n"
    )
    return subprocess.run(
        [sys.executable, "-c", head + code, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )


def test_kill_9_loses_nothing(tmp_path):
    done = in_child(
        tmp_path,
        "r = Recorder(folder, fault)\nfor n in range(1000): r.record(FORWARD, 1, n + 1, n + 2)\n"
        "os.kill(os.getpid(), signal.SIGKILL)",
    )
    assert done.returncode == -signal.SIGKILL
    assert len(only_file(tmp_path).events) == 1000


def test_kill_9_in_a_fast_loop_loses_the_last_milliseconds_at_most(tmp_path):
    """Events end a microsecond apart; each that ends later than the wait is a reason to write all before it."""
    done = in_child(
        tmp_path,
        "from pitstop.probe.recorder import AT_ONCE, WAIT_NS\n"
        "r = Recorder(folder, fault)\nfor n in range(1, 100_001): r.record(FORWARD, 1, n * 1000 - 999, n * 1000)\n"
        "os.kill(os.getpid(), signal.SIGKILL)",
    )
    assert done.returncode == -signal.SIGKILL
    ends = [event.end_ns for event in only_file(tmp_path).events]
    assert ends == list(range(1000, 1000 * len(ends) + 1, 1000)), "in order, none left out"
    assert 100_000_000 - layout.WAIT_NS <= ends[-1] < 100_000_000


def test_a_slow_loop_waits_for_nothing(tmp_path, faults):
    recorder = Recorder(str(tmp_path), faults)
    for number in range(1, 2 * layout.AT_ONCE):
        recorder.record(FORWARD, 1, number, number * layout.WAIT_NS)
    assert len(only_file(tmp_path).events) == 2 * layout.AT_ONCE - 1


def test_an_event_inside_of_writing_is_kept(tmp_path, faults):
    """A garbage collection in the middle of a flush records itself."""
    recorder = Recorder(str(tmp_path), faults)
    open_file = recorder._open

    def open_and_collect():
        open_file()
        recorder.record(FORWARD, 2, 3, 4)

    recorder._open = open_and_collect
    recorder.record(FORWARD, 1, 1, 2)
    recorder.close()
    assert [event.arg for event in only_file(tmp_path).events] == [1, 2]


def test_a_forked_child_writes_its_own_file_and_only_if_it_has_something_to_say(tmp_path):
    done = in_child(
        tmp_path,
        """
r = Recorder(folder, fault)
os.register_at_fork(after_in_child=r.after_fork)
r.record(FORWARD, 1, 1, 2)
for says in (0, 1):
    if os.fork() == 0:
        for _ in range(5 * says): r.record(FORWARD, 2, 3, 4)
        os._exit(0)
    os.wait()
r.record(FORWARD, 1, 5, 6)
print(os.getpid())
""",
    )
    files = {file.pid: file for file in map(read_events, tmp_path.glob("*.events"))}
    parent = files.pop(int(done.stdout))
    assert [event.arg for event in parent.events] == [1, 1]
    (child,) = files.values()
    assert [event.arg for event in child.events] == [2] * 5


def test_descriptors_that_the_program_closes_are_not_ours(tmp_path):
    """A daemon closes every descriptor, and then opens files of its own under the same numbers."""
    done = in_child(
        tmp_path,
        """
r = Recorder(folder, fault)
r.record(FORWARD, 1, 1, 2)
os.closerange(3, 256)
mine = [os.open(folder + "/mine%d" % n, os.O_RDWR | os.O_CREAT) for n in range(8)]
for n in range(2 * CHUNK_BYTES // RECORD.size): r.record(FORWARD, 1, n + 1, n + 2)
r.close()
print([os.fstat(number).st_size for number in mine])
""",
    )
    assert done.stdout == "[0, 0, 0, 0, 0, 0, 0, 0]\n"


def test_a_full_disk_does_not_kill_the_program(tmp_path):
    """A store into a hole of a sparse file on a full disk would be SIGBUS."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs root to mount a small tmpfs")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(disk)], check=False).returncode != 0:
        pytest.skip("cannot mount a tmpfs here")
    try:
        done = in_child(
            disk,
            "r = Recorder(folder, fault)\n"
            "for n in range(5 * CHUNK_BYTES // RECORD.size): r.record(FORWARD, 1, n + 1, n + 2)\nr.flush()\nprint('alive')",
        )
        assert done.stdout.startswith("fault OSError [Errno 28]")
        assert done.stdout.endswith("alive\n")
        assert done.returncode == 0
        kept = len(only_file(disk).events)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert kept == (2 * CHUNK_BYTES - HEADER.size) // RECORD.size
