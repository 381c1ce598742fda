"""Device events around calls: read when they have happened, never waited for. The device is a simulated one; tests marked `gpu` use a real one."""

import json
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest

from pitstop.probe.pytorch.device_marks import MOST_WAITING, UNIT_NS, DeviceMarks
from pitstop.probe.recorder import DEVICE, FORWARD

MS = 1_000_000


class Device:
    """A device with a clock of its own, in milliseconds; `reached` is up to when it has worked."""

    def __init__(self):
        self.queue_ms = 0.0
        self.reached_ms = -1.0
        self.capturing = False
        self.made = 0
        device = self

        class Event:
            def __init__(self, *, enable_timing):
                assert enable_timing
                device.made += 1

            def record(self):
                assert not device.capturing
                self.at_ms = device.queue_ms

            def query(self):
                return self.at_ms <= device.reached_ms

            def elapsed_time(self, other):
                assert self.query(), "it would have waited"
                assert other.query(), "it would have waited"
                return other.at_ms - self.at_ms

        self.cuda = SimpleNamespace(
            is_initialized=lambda: True, is_current_stream_capturing=lambda: device.capturing, Event=Event
        )


class Clock:
    def __init__(self):
        self.due = []

    def after(self, _steps, callback):
        self.due.append(callback)

    def at_next_step(self, callback, steps=1):
        self.due.append(callback)

    def step(self):
        due, self.due = self.due, []
        for callback in due:
            callback()


@pytest.fixture
def hooked():
    faults, events = [], []
    session = SimpleNamespace(
        is_worker=False,
        fault=lambda where, error: faults.append((where, error)),
        recorder=SimpleNamespace(put=events.append),
    )
    return SimpleNamespace(torch=Device(), clock=Clock(), session=session, faults=faults, events=events)


def work(hooked, marks, *, lasts_ms, start_ns):
    begun = marks.begin()
    hooked.torch.queue_ms += lasts_ms
    marks.end(begun, FORWARD, start_ns, start_ns + 10)


def test_a_call_is_recorded_once_the_device_has_done_it(hooked):
    marks = DeviceMarks(hooked)
    marks.start()
    hooked.torch.queue_ms = 5.0
    work(hooked, marks, lasts_ms=2.5, start_ns=1000)
    hooked.clock.step()
    assert hooked.events == [], "the device is not there yet, and is not waited for"
    hooked.torch.reached_ms = 7.5
    hooked.clock.step()
    ((kind, flags, _thread, units, start_ns, end_ns, value),) = hooked.events
    assert (kind, flags, start_ns, end_ns) == (DEVICE, FORWARD, 1000, 1010)
    assert value == 5 * MS
    assert units * UNIT_NS == 2.5 * MS


def test_events_are_used_again(hooked):
    marks = DeviceMarks(hooked)
    marks.start()
    for number in range(50):
        work(hooked, marks, lasts_ms=1.0, start_ns=number)
        hooked.torch.reached_ms = hooked.torch.queue_ms
        hooked.clock.step()
    assert len(hooked.events) == 50
    assert hooked.torch.made <= 5


def test_a_long_run_counts_on_from_later_events(hooked):
    """A 32-bit float of milliseconds would lose the microseconds."""
    marks = DeviceMarks(hooked)
    marks.start()
    for number in range(5):
        hooked.torch.queue_ms += 50_000.0
        work(hooked, marks, lasts_ms=1.0, start_ns=number)
        hooked.torch.reached_ms = hooked.torch.queue_ms
        hooked.clock.step()
    assert [event[-1] for event in hooked.events] == [(50_000 * (n + 1) + n) * MS for n in range(5)]
    assert hooked.faults == []


def test_nothing_is_placed_in_a_graph_that_the_program_captures(hooked):
    marks = DeviceMarks(hooked)
    marks.start()
    hooked.torch.capturing = True
    assert marks.begin() is None
    hooked.torch.capturing = False
    begun = marks.begin()
    hooked.torch.capturing = True
    marks.end(begun, FORWARD, 0, 1)
    assert hooked.faults == []


def test_a_device_that_never_comes_to_it_costs_bounded_memory(hooked):
    marks = DeviceMarks(hooked)
    marks.start()
    for number in range(MOST_WAITING + 10):
        work(hooked, marks, lasts_ms=1.0, start_ns=number)
    hooked.torch.reached_ms = hooked.torch.queue_ms
    hooked.clock.step()
    assert len(hooked.events) == MOST_WAITING


def test_a_device_that_fails_is_left_alone_from_then_on(hooked):
    marks = DeviceMarks(hooked)
    marks.start()
    hooked.torch.cuda.is_current_stream_capturing = lambda: 1 / 0
    assert marks.begin() is None
    assert not marks.on
    assert [where for where, _error in hooked.faults] == ["device events"]


def test_what_still_waits_at_the_end_is_recorded_as_far_as_it_happened(hooked):
    marks = DeviceMarks(hooked)
    marks.start()
    work(hooked, marks, lasts_ms=1.0, start_ns=1)
    hooked.torch.reached_ms = hooked.torch.queue_ms
    work(hooked, marks, lasts_ms=1.0, start_ns=2)
    marks.last()
    assert [event[4] for event in hooked.events] == [1]


GPU_PROGRAM = """
import torch
model = torch.nn.Sequential(*(torch.nn.Linear(4096, 4096) for _ in range(12))).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
data = torch.randn(2048, 4096, device="cuda")
for step in range(60):
    optimizer.zero_grad()
    loss = model(data).square().mean()
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
"""


@pytest.mark.gpu
def test_on_a_real_device_the_work_is_the_device_s(tmp_path):
    (tmp_path / "train.py").write_text(textwrap.dedent(GPU_PROGRAM))
    command = [sys.executable, "-m", "pitstop", "profile", "--json", "out.json", "--", sys.executable, "train.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["device_busy"] > 0.8
    assert result["ledger"]["backward"] > result["ledger"]["forward"] > result["ledger"]["optimizer"]
    assert result["host_ledger"]["backward"] < result["ledger"]["backward"], "the host only launches it"
