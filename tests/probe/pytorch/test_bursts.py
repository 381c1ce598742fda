"""Short steps are looked at in bursts: when details pause, when they are seen again, and what a real program's run says of it."""

from collections import Counter
from types import SimpleNamespace

import pytest
from probed import run_probed

from pitstop.diagnose.account import account
from pitstop.diagnose.steps import find_steps
from pitstop.probe.pytorch import bursts as module
from pitstop.probe.pytorch.bursts import BURST_NS, FIRST_NS, LOOK_STEPS, PAUSE_NS, SHORT_STEP_NS, Bursts
from pitstop.probe.pytorch.lean import Lean
from pitstop.probe.recorder import BACKWARD, MARK, MARK_PAUSE, MARK_RESUME, OPTIMIZER, STEP
from pitstop.probe.step_clock import StepClock
from pitstop.records import EventKind, Mark


class Program:
    """Steps of a given length on a clock of its own; `log` holds what the bursts did, and at which step."""

    def __init__(self):
        self.now_ns = 0
        self.log = []
        self.session = SimpleNamespace(
            compiles=0, sampler=SimpleNamespace(pause=self._say("quiet"), resume=self._say("sampling"), weight=1)
        )
        self.clock = StepClock(on_stop=None, on_fault=self._fault)
        self.optimizers = SimpleNamespace(known={})  # none that lean steps could be of, but in tests of these
        self.lean = Lean(self)
        self.switched = SimpleNamespace(put=self._say("put"), take=self._say("take"))
        self.bursts = Bursts(self, now=lambda: self.now_ns)

    def _fault(self, _where, error):
        raise error

    def _say(self, what):
        return lambda: self.log.append((what, self.clock.steps))

    def record(self, kind, arg, _start_ns, _end_ns):
        self.log.append(({(MARK, MARK_PAUSE): "pause", (MARK, MARK_RESUME): "resume"}[kind, arg], self.clock.steps))

    def run(self, steps, *, step_ns, kind=OPTIMIZER):
        for _ in range(steps):
            self.now_ns += step_ns
            self.clock.tick(kind)

    def switches(self):
        return [step for what, step in self.log if what in {"pause", "resume"}]


def test_short_steps_pause_after_two_seconds_and_are_seen_again_for_a_fifth_of_one():
    program = Program()
    step_ns = 200_000
    program.run(80_000, step_ns=step_ns)
    first, *_ = switches = program.switches()
    assert first * step_ns == pytest.approx(FIRST_NS, abs=2 * LOOK_STEPS * step_ns)
    pauses = [resume - pause for pause, resume in zip(switches[::2], switches[1::2], strict=False)]
    late = module.STEPS_OF_PAUSE * step_ns
    bursts = [pause - resume for resume, pause in zip(switches[1::2], switches[2::2], strict=False)]
    assert len(bursts) >= 5
    assert all(PAUSE_NS <= pause * step_ns <= PAUSE_NS + late for pause in pauses)
    assert all(BURST_NS <= burst * step_ns <= BURST_NS + 2 * LOOK_STEPS * step_ns for burst in bursts)
    assert [what for what, _ in program.log[:6]] == ["pause", "take", "quiet", "put", "resume", "sampling"]
    assert program.session.sampler.weight == 1 + PAUSE_NS // BURST_NS
    program.bursts.loader_begins()
    assert program.session.sampler.weight == 1


def test_a_loader_that_begins_ends_a_pause():
    program = Program()
    program.run(FIRST_NS // 100_000 + 200, step_ns=100_000)
    assert program.bursts.paused
    program.bursts.resume()
    assert not program.bursts.paused
    program.bursts.resume()
    assert [what for what, _ in program.log].count("put") == 1


def test_a_loader_that_begins_in_the_middle_of_a_switch_does_not_hang():
    """A signal handler that evaluates, called while the hooks are being taken away, in the same thread."""
    program = Program()
    program.switched.take = program.bursts.loader_begins
    program.run(FIRST_NS // 100_000 + 200, step_ns=100_000)
    assert program.bursts.paused
    program.run(PAUSE_NS // 100_000 + 100, step_ns=100_000)
    assert not program.bursts.paused, "the pause ends by its time all the same"


def test_steps_that_become_long_end_a_pause():
    """It was planned for a second of short steps; with longer ones it lasts sixteen of them beyond."""
    program = Program()
    program.run(FIRST_NS // 100_000 + 200, step_ns=100_000)
    assert program.bursts.paused
    program.run(module.STEPS_OF_PAUSE, step_ns=300_000_000)
    assert not program.bursts.paused


def test_loaders_that_begin_all_the_time_are_part_of_the_rhythm():
    """Epochs of 6 ms: a pause that ended with each of them would be no pause."""
    program = Program()
    for _ in range(1500):
        program.bursts.loader_begins()
        program.run(60, step_ns=100_000)
    pauses = [resume - pause for pause, resume in zip(program.switches()[::2], program.switches()[1::2], strict=False)]
    assert len(pauses) >= 2
    assert min(pauses) * 100_000 >= PAUSE_NS


def test_an_optimizer_that_takes_over_ends_a_pause():
    """The first one, whose steps are counted, never steps again."""
    program = Program()
    program.run(FIRST_NS // 100_000 + 200, step_ns=100_000)
    program.now_ns += PAUSE_NS
    program.bursts.look_at_time()
    assert not program.bursts.paused


def test_a_step_of_the_programs_own_keeps_the_rhythm():
    program = Program()
    program.run(FIRST_NS // 100_000 + 200, step_ns=100_000)
    assert program.bursts.paused
    program.run(2 * PAUSE_NS // 100_000, step_ns=100_000, kind=STEP)
    assert len(program.switches()) >= 2


@pytest.mark.parametrize(
    ("step_ns", "kind"),
    [(SHORT_STEP_NS + 1, OPTIMIZER), (100_000, BACKWARD)],
    ids=["long steps", "steps that no optimizer ends"],
)
def test_otherwise_all_details_are_seen(step_ns, kind):
    program = Program()
    program.run(50_000, step_ns=step_ns, kind=kind)
    assert program.log == []


def test_a_program_that_compiles_keeps_its_hooks():
    program = Program()
    program.session.compiles = 1
    program.run(50_000, step_ns=100_000)
    assert program.log == []


def test_steps_that_become_short_are_noticed():
    program = Program()
    program.run(500, step_ns=10 * SHORT_STEP_NS)
    program.run(FIRST_NS // 100_000 + 500, step_ns=100_000)
    assert program.bursts.paused


class LeanProgram(Program):
    """Steps as the hook of a real optimizer takes them in: by the clock while details are seen, else only their times."""

    def __init__(self):
        self.events = []
        super().__init__()
        self.flushed_ns = []
        self.session.recorder = SimpleNamespace(
            put=self.events.append, flush=lambda: self.flushed_ns.append(self.now_ns)
        )
        self.session.fault = self._fault
        self.clock.leader = 1
        self.optimizers.known = {99: (1, None)}

    def run(self, steps, *, step_ns, kind=OPTIMIZER):
        for _ in range(steps):
            self.now_ns += step_ns
            if self.lean.key != 99:
                self.events.append((kind, 0, 0, 1, self.now_ns, self.now_ns, 0))
                self.clock.tick(kind)
                continue
            self.lean.times.append(self.now_ns)
            if self.now_ns >= self.lean.due_ns or len(self.lean.times) >= self.lean.many:
                self.lean.catch_up()


@pytest.fixture
def lean_program(monkeypatch):
    program = LeanProgram()
    monkeypatch.setattr("pitstop.probe.pytorch.lean.time.monotonic_ns", lambda: program.now_ns)
    return program


def test_lean_steps_are_all_counted_and_recorded_in_order(lean_program):
    done = []
    lean_program.clock.at_next_step(lambda: done.append(lean_program.clock.steps), 30_003)
    lean_program.run(40_000, step_ns=200_000)
    assert len(lean_program.switches()) >= 3
    lean_program.lean.end()
    assert lean_program.clock.steps == 40_000
    assert [event[5] for event in lean_program.events] == [200_000 * step for step in range(1, 40_001)]
    assert done == [30_003], "what is due after a step happens after just this one"


def test_a_lean_pause_ends_in_time_however_long_its_steps_become(lean_program):
    lean_program.run(FIRST_NS // 200_000 + 200, step_ns=200_000)
    assert lean_program.bursts.paused
    assert lean_program.lean.key == 99
    lean_program.run(3, step_ns=PAUSE_NS)
    assert not lean_program.bursts.paused
    assert lean_program.lean.key is None


def test_lean_steps_that_become_slow_do_not_wait_to_be_written(lean_program):
    lean_program.run(FIRST_NS // 200_000 + 200, step_ns=200_000)
    for _ in range(20):
        lean_program.run(1, step_ns=50_000_000)
        assert lean_program.flushed_ns[-1] == lean_program.now_ns
        assert not lean_program.lean.times


def test_a_loader_that_begins_takes_in_lean_steps_first(lean_program):
    lean_program.run(FIRST_NS // 200_000 + 200, step_ns=200_000)
    steps = len(lean_program.events) + len(lean_program.lean.times)
    lean_program.bursts.loader_begins()
    assert (lean_program.clock.steps, len(lean_program.events)) == (steps, steps)
    lean_program.run(10, step_ns=200_000)
    assert lean_program.clock.steps == steps + 10


def test_steps_by_another_clock_than_an_optimizer_are_never_lean(lean_program):
    lean_program.run(FIRST_NS // 200_000 + 200, step_ns=200_000, kind=STEP)
    assert lean_program.bursts.paused
    assert lean_program.lean.key is None


LOOP = """
import _pitstop_probe.pytorch.bursts as bursts
bursts.FIRST_NS = bursts.BURST_NS = 0
bursts.PAUSE_NS, bursts.SHORT_STEP_NS = 1 << 60, 1 << 60
import torch
torch.set_num_threads(1)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.TensorDataset(torch.ones({batches}, 4))
loader = torch.utils.data.DataLoader(data, batch_size=1)
for epoch in range({epochs}):
    for (x,) in loader:
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
print("done")
"""


@pytest.mark.torch
def test_a_real_program_is_paused_and_seen_again(tmp_path):
    """Bursts as short as they can be: 64 steps in detail, then lean ones until the next epoch begins."""
    done = run_probed("-c", LOOP.format(batches=200, epochs=3), folder=tmp_path / "probe", sample_hz=100)
    assert (done.exit_code, done.stderr, done.reading.faults) == (0, "", ())
    kinds = Counter(event.kind for event in done.main)
    assert kinds[EventKind.OPTIMIZER] == 600
    marks = [event.arg for event in done.main if event.kind is EventKind.MARK]
    assert marks[:4] == [Mark.PAUSE, Mark.RESUME, Mark.PAUSE, Mark.RESUME]
    assert kinds[EventKind.BACKWARD] == kinds[EventKind.ZERO_GRAD] == kinds[EventKind.FORWARD] == kinds[EventKind.FETCH]
    assert 150 < kinds[EventKind.BACKWARD] < 330
    begins = [event.end_ns for event in done.main if event.kind is EventKind.LOADER_ITER]
    after = [event for event in done.main if event.end_ns > begins[-1] and event.kind is not EventKind.MARK]
    assert [event.kind for event in after[:3]] == [EventKind.FETCH, EventKind.ZERO_GRAD, EventKind.FORWARD]
    steps = find_steps(done.main, evidence=done.reading.evidence)
    ledger = account(done.main, steps)
    assert (steps.count, steps.micro_steps, set(steps.samples)) == (600, 1, {1})
    assert sum(ledger.categories_ns.values()) == ledger.wall_ns
    assert all(ledger.share(category) > 0.01 for category in ("data_wait", "forward", "backward", "optimizer"))


def test_the_constants_keep_the_cost_of_details_below_a_hundredth():
    """26 us of details per step (bench/overhead/pieces.py)."""
    assert module.SHORT_STEP_NS >= 100 * 26_000
    assert module.PAUSE_NS == 10 * module.BURST_NS
