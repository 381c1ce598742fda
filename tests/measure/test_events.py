"""Reading event files, good ones and damaged ones."""

import struct
import time

import pytest

from pitstop.measure.events import read_events
from pitstop.probe.recorder import HEADER, RECORD
from pitstop.records import Event, EventKind


def header(role=1, pid=42, magic=b"PITSTOP1", size=32):
    return struct.pack("<8sIIQ40x", magic, size, role, pid)


def record(kind=2, start=10, end=20, *, thread=0, arg=1, value=0, flags=0):
    return struct.pack("<BBHIqqq", kind, flags, thread, arg, start, end, value)


@pytest.fixture
def read(tmp_path):
    def run(data):
        path = tmp_path / "1-1.events"
        path.write_bytes(data)
        return read_events(path)

    return run


def test_layout_is_the_probes():
    assert (HEADER.size, RECORD.size) == (64, 32)
    assert HEADER.pack(b"PITSTOP1", 32, 2, 7) == header(2, 7)
    assert RECORD.pack(2, 3, 1, 5, 10, 20, -7) == record(2, 10, 20, thread=1, arg=5, value=-7, flags=3)


def test_records_become_events_in_time_order(read):
    found = read(header(role=2) + record(end=90) + record(3, 30, 40, thread=2, arg=9, value=-1, flags=3))
    assert (found.pid, found.role, found.faults) == (42, "worker", ())
    assert found.events == (
        Event(kind=EventKind.BACKWARD, start_ns=30, end_ns=40, thread=2, arg=9, value=-1, flags=3),
        Event(kind=EventKind.FORWARD, start_ns=10, end_ns=90, arg=1),
    )


@pytest.mark.parametrize("cut", [1, 8, 31])
def test_a_cut_last_record_is_left_out(read, cut):
    found = read(header() + record() + record()[:cut])
    assert (len(found.events), found.faults) == (1, ())


def test_zeros_after_the_last_record_are_the_end(read):
    assert len(read(header() + record() * 5 + bytes(1 << 20)).events) == 5


def test_a_record_that_another_thread_had_not_finished_does_not_hide_later_ones(read):
    assert len(read(header() + record() + bytes(32) + record() + bytes(320)).events) == 2


def test_damaged_records_are_counted_and_left_out(read):
    found = read(header() + record() + record(kind=200) + record(start=50, end=1) + record())
    assert len(found.events) == 2
    assert found.faults == ("1-1.events: 2 damaged records, the first is number 1",)


@pytest.mark.parametrize("data", [b"", b"PITSTOP1", header(magic=b"SOMETHIN") + record(), header(size=16) + record()])
def test_what_is_no_event_file_is_said(read, data):
    found = read(data)
    assert (found.events, len(found.faults)) == ((), 1)


def test_a_missing_file_is_said(tmp_path):
    assert "No such file" in read_events(tmp_path / "gone.events").faults[0]


def test_a_million_events_are_read_at_a_sensible_cost(read):
    """CPU time, and a bound ten times what it takes, so that a busy machine does not matter."""
    data = header() + record() * 1_000_000
    begin = time.process_time()
    assert len(read(data).events) == 1_000_000
    assert time.process_time() - begin < 15
