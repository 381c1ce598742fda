"""The course of one equivalence run: record N steps, then replay, then end the program."""

import atexit
import json
import math
import os
import sys
from _thread import get_ident
from typing import Any

from . import equivalence_closures, equivalence_data
from .equivalence_ahead import Deliveries, Handover, tensors_in
from .equivalence_arithmetic import Arithmetic
from .equivalence_capture import Capture, trained_by
from .equivalence_data import LoaderRecord
from .equivalence_hand import HandUpdate
from .equivalence_replay import Replay
from .equivalence_state import TrainedState, hyperparameters

__all__ = ["Session"]

SCHEMA = 1
CAPTURE_BYTES = 2 << 30
MOST_IDLE = (
    12  # steps passed over in all until a program that looks ahead stands where a recorded step can be computed again
)
MOST_AGAIN = 4  # replays begun anew because an epoch ended in them
PARTS = 5  # a capture is weights, gradients, the optimizer's memory (2) and the update


class Session:
    """Gets every notice of `equivalence_hooks` and knows the one open window (a `Capture` or a `Replay`)."""

    def __init__(self, torch, config):
        self.torch = torch
        self.pid = os.getpid()
        self.folder = config["folder"]
        self.num_steps = int(config.get("steps") or config.get("stop_after_steps") or 40)
        self.stop_after = config.get("stop_after_steps") or None
        self.wanted = list(
            config.get("capture_steps") or _capture_steps(int(config.get("captures") or 0), self.num_steps)
        )
        self.all_wanted = list(self.wanted)
        self.capture_bytes = int(config.get("capture_bytes") or CAPTURE_BYTES)
        self.variants = list(config.get("replay") or [])
        self.replay_from = config.get("replay_from") or self.folder
        self.references = config.get("reference_from") or self.replay_from
        self.in_phase = bool(config.get("in_phase"))
        self.by_hand = bool(config.get("by_hand"))  # no torch optimizer: what follows a backward is the update
        self.hand: Any = None
        self.hand_works = False  # between a backward and whatever begins the next step
        if self.in_phase:
            self.num_steps = self.wanted[0]
        self.over = False
        self.step = 0
        self.optimizers, self.leader, self.state_of = [], 0, 0
        self.state: Any = None
        self.window: Any = None
        self.loaders, self.training_loaders, self.kept = {}, set(), []
        self.deliveries: Any = {}  # number of a loader -> what it delivered and no step has used yet
        self.handover: Any = None  # where loaders look ahead
        self.idle = self.again = 0
        self.wide = False  # what was fetched in fp64 may still be used
        self.scaled: Any = {}  # id -> (loss, factor)
        self.thread = get_ident()
        self.state_is_wide = False
        self.queue: Any = None  # (capture number, variant) still to replay; None while recording
        self.captured = 0
        self.counts = [0, 0, 0, 0]  # backward passes, batches, optimizer steps, tensors with a gradient in those
        self.now = []  # losses of the current step
        self.settings_now = []
        self.settings: Any = []  # per step: [[optimizer, hyperparameters], ...]
        self.closure = False
        self.watched: Any = None  # the closure of the optimizer that is stepping
        self.result = {
            "schema": SCHEMA,
            "seed_offset": int(config.get("seed_offset") or 0),
            "torch": torch.__version__,
            "losses": [],
            "rhythm": [],
            "settings": self.settings,
            "finite": True,
            "hash_end": None,
            "loaders": [],
            "replays": [],
            "captures": [],
            "faults": [],
            "complete": False,
            "crash": None,
        }
        atexit.register(self.write)

    # Notices

    def on_epoch_start(self, loader):
        """Note that a loader is iterated."""
        self.on_forward()
        if self.queue is None:
            self._record(loader).start_epoch()

    def on_epoch_end(self, loader):
        """Note that a loader is exhausted."""
        self.on_forward()
        if self.queue is None:
            self._record(loader).end_epoch()

    def on_fetch(self, loader, batch, ids):
        """Note what a loader delivered; return (batch,) to hand over instead, or None."""
        self.on_forward()
        number = self._record(loader).number
        if not self.torch.is_grad_enabled():
            if isinstance(self.window, Capture):
                self.window.spoiled = "evaluation in between"
            return None
        if self.queue is not None:
            return self._handed_over(number, batch)
        self._record(loader).add(batch, ids)
        self.counts[1] += 1
        if self.step <= 1:
            self.training_loaders.add(number)
        deliveries = self.deliveries.setdefault(number, Deliveries(self.torch))
        capturing = isinstance(self.window, Capture)
        kept = None
        if capturing or (self.wanted and deliveries.followed is not False):
            kept = equivalence_data.copied(self.torch, batch)
        deliveries.deliver(batch, kept)
        if capturing:
            if number in self.training_loaders:
                self.window.fetch(number, kept)
            else:
                self.window.spoiled = "another loader in between"
        return None

    def _handed_over(self, number, batch):
        """Return (batch,) that a loader's fetch is given while steps are computed again, or None."""
        if self.handover is None or number not in self.handover.loaders():
            return self.window.fetch(number) if self.window is not None else None
        deliveries = self.deliveries[number]
        found = self.handover.given(number, deliveries.fetched)
        answer = None
        self.pause_modes()
        try:
            if found is not None:
                recorded, (_, variant) = found
                batch = equivalence_data.copied(self.torch, recorded)
                if variant != "plain":
                    batch = equivalence_data.mapped(self.torch, batch, Arithmetic(self.torch, variant).batch)
                answer = (batch,)
            deliveries.deliver(batch, None)
        finally:
            self.resume_modes()
        if self.window is not None and self.thread == get_ident():
            self.window.fetch_ahead(number)
        return answer

    def on_call(self, args, kwargs):
        """Note that a module is called from outside of all modules; return its arguments anew where they must be others, or None."""
        self.on_forward()
        waiting = [(number, one) for number, one in self.deliveries.items() if one.pending]
        if (
            not waiting or self.torch._C._get_tracing_state()
        ):  # what is asked of a tensor would become part of the graph
            return None
        self.pause_modes()
        try:
            tensors = tensors_in(self.torch, (args, kwargs))
            used = [(number, one.use(tensors)) for number, one in waiting] if tensors else []
            for number, delivery in used:
                if delivery is None:
                    continue
                if isinstance(self.window, Capture):
                    self.window.use(number, delivery.kept)
                elif self.window is not None and self.handover is not None:
                    self.window.use(number, delivery.index - self.handover.starts.get(number, 0))
            if self.wide and self.window is not None and self.window.arithmetic.variant != "float64":
                return equivalence_data.mapped(self.torch, (args, kwargs), self._narrowed)
        finally:
            self.resume_modes()
        return None

    def _narrowed(self, tensor):
        return tensor.to(self.torch.get_default_dtype()) if tensor.dtype == self.torch.float64 else tensor

    def on_forward(self):
        """Note that a module is called: an update by hand is over."""
        if self.hand_works:
            self.hand_works = False
            self.after_optimizer(self.hand)
            self.hand.end()

    def after_backward(self):
        """Note that gradients are there; where the program updates by hand, it does so from now on."""
        if not self.by_hand:
            return
        if self.hand is None:
            self.hand = HandUpdate(self.torch)
        if self.hand_works:  # a second backward before the update
            self.closure = True
        elif trained_by(self.hand):
            self.hand_works = True
            self._before_update(self.hand)

    def on_scaled(self, loss, scaler):
        """Note that `loss` is one that a GradScaler has multiplied."""
        self.scaled[id(loss)] = loss, scaler.get_scale()

    def on_backward(self, tensors):
        """Note what goes backward."""
        if self.hand is not None and not self.closure and (self.hand_works or self.hand.is_odd()):
            self.closure = True  # as with a closure: no step can be computed again by itself
        value = 0.0
        for tensor in tensors if isinstance(tensors, (list, tuple)) else [tensors]:
            scaled = self.scaled.pop(id(tensor), None)
            value += float(tensor.detach().double().sum()) / (
                scaled[1] if scaled is not None and scaled[0] is tensor else 1
            )
        self.scaled.clear()
        self.counts[0] += 1
        self.now.append(value)
        if self.window is not None:
            self.window.loss(value)

    def before_optimizer(self, optimizer, args, kwargs):
        """Prepare for an optimizer that is about to step; return its arguments anew where it first evaluates a closure."""
        self.watched = equivalence_closures.watched(args, kwargs, lambda times: self._evaluated(optimizer, times))
        if self.watched is None:
            self._before_update(optimizer)
            return None
        return self.watched.arguments

    def _evaluated(self, optimizer, times):
        """Go on once the optimizer has evaluated its closure: with Adam and the like, the update begins now."""
        if self.over or self.pid != os.getpid():
            return
        try:
            if times == 1:
                self._before_update(optimizer)
            else:
                self._cannot_replay()
        except Exception as error:
            self.fault("optimizer", error)

    def _cannot_replay(self):
        """Take in that no step can be computed again: a line search (L-BFGS), or an update that leaves the closure out."""
        self.closure = True
        if isinstance(self.window, Capture):
            self.window.spoiled = "the optimizer evaluates the loss itself"

    def _before_update(self, optimizer):
        number = self._number(optimizer)
        if self.queue is None:
            self.settings_now.append([number, hyperparameters(optimizer)])
            self.counts[3] += sum(p.grad is not None and bool(p.grad.count_nonzero()) for p in trained_by(optimizer))
        if self.window is not None:
            self.window.before(number, optimizer)

    def after_optimizer(self, optimizer, *_):
        """Note that it stepped; the leading optimizer's steps are the program's."""
        watched, self.watched = self.watched, None
        if watched is not None and not watched.times:
            self._cannot_replay()
            self._before_update(optimizer)
        number = self._number(optimizer)
        self.counts[2] += 1
        if self.window is not None:
            self.window.after(number, optimizer, last=number == self.leader)
        if number == self.leader:
            self._end_step()

    # The course

    def _end_step(self):
        self.thread = get_ident()
        for one in self.deliveries.values():
            one.end_step()
        if self.queue is None:
            self._end_recorded_step()
        elif self.window is not None:
            self._end_replay()
        self.step += 1
        self.counts, self.now, self.settings_now = [0, 0, 0, 0], [], []
        if self.state_of != len(self.optimizers):
            self.state, self.state_of = TrainedState(self.torch, self.optimizers), len(self.optimizers)
        if self.queue is None and self.step == self.num_steps:
            self._end_recording()
        if self.stop_after is not None and self.step - self.idle >= self.stop_after:
            self.finish()
        if self.queue is None:
            self._begin_capture()
        elif self.queue:
            self._begin_replay()
        else:
            self.finish()

    def _end_replay(self):
        window, self.window = self.window, None
        entry = window.end(self.folder)
        if window.variant == "float64":
            self.wide = self.handover is not None and not self.state_is_wide
        if window.idle:
            self.idle += 1
        elif self.handover is not None and not window.has_all() and self.again < MOST_AGAIN:
            self.again += 1
            self.idle += 1
            self.handover.plan(self.deliveries)
        else:
            self.result["replays"].append(entry)
            self.queue.pop(0)
            if self.handover is not None:
                self.handover.advance()

    def _begin_replay(self):
        number, variant = self.queue[0]
        idle = False
        if self.handover is not None:
            due = self.handover.due(self.deliveries)
            if due == "missed":
                self.handover.plan(self.deliveries)
                due = self.handover.due(self.deliveries)
            idle = due != "now"
            if self.idle > MOST_IDLE:
                self.result["faults"].append("replay: batches are not used in the order in which they are fetched")
                self.finish()
        self.window = Replay(
            self.torch,
            self.replay_from,
            number,
            "plain" if idle else variant,
            settings=[] if self.in_phase else self.settings,
            references=self.references,
            idle=idle,
        )
        self.window.begin(self.state, self.optimizers)

    def _end_recorded_step(self):
        result = self.result
        result["finite"] = result["finite"] and all(math.isfinite(value) for value in self.now)
        result["losses"].append([value if math.isfinite(value) else None for value in self.now])
        result["rhythm"].append(self.counts)
        self.settings.append(self.settings_now)
        window, self.window = self.window, None
        if window is not None and window.spoiled is None and not self.closure:
            result["captures"].append(self.step)
            ahead = [number for number, one in self.deliveries.items() if one.ahead and number in self.training_loaders]
            self.capture_bytes -= window.save(self.folder, self.captured, ahead)
            self.captured += 1
            self.wanted.pop(0)

    def _begin_capture(self):
        if self.step == 1 and self.wanted and not self.training_loaders:
            # The program makes its own batches: replays must come at the same step, hence last and in a row.
            self.wanted = list(range(max(1, self.num_steps - len(self.wanted)), self.num_steps))
            self.all_wanted = list(self.wanted)
        if self.closure or self.in_phase or not self.wanted or self.step < self.wanted[0]:
            return
        if self.captured and PARTS * self.state.num_bytes() > self.capture_bytes:
            self.wanted = []
            return
        self.window = Capture(self.torch, self.step, self.state, self.optimizers)

    def _end_recording(self):
        self.result["hash_end"] = self.state.hash()
        self.result["complete"] = True
        for record in self.kept:
            self.result["loaders"].append(record.summary(self.result["faults"]))
        found = [name for name in os.listdir(self.replay_from) if name.startswith("capture-") and name.endswith(".pt")]
        self.queue = [] if self.closure else [(n, variant) for variant in self.variants for n in range(len(found))]
        if self.queue and not self.in_phase:
            self._plan_handover(len(found))

    def _plan_handover(self, captures):
        """Where loaders look ahead, lay out which fetch gets the batch of which recorded step."""
        paths = [os.path.join(self.replay_from, "capture-%d.pt" % number) for number in range(captures)]
        batches = [self.torch.load(path, weights_only=False).get("ahead") or {} for path in paths]
        self.state_is_wide = any(place.tensor().dtype == self.torch.float64 for place in self.state.named.values())
        if not any(batches):
            return
        lost = [
            n for one in batches for n in one if n not in self.deliveries or self.deliveries[n].followed is not True
        ]
        if lost:
            self.result["faults"].append(
                "replay: no module is called with the batches that loader %d delivers" % lost[0]
            )
            self.queue = []
            return
        self.handover = Handover(batches, self.queue)
        self.handover.plan(self.deliveries)

    def pause_modes(self):
        """Let the program's loader work in the program's own arithmetic."""
        if isinstance(self.window, Replay) and self.thread == get_ident():
            self.window.arithmetic.pause()

    def resume_modes(self):
        """Go back to the replayed arithmetic."""
        if isinstance(self.window, Replay) and self.thread == get_ident():
            self.window.arithmetic.resume()

    def _number(self, optimizer):
        for number, known in enumerate(self.optimizers):
            if known is optimizer:
                return number
        self.optimizers.append(optimizer)
        # The newest leads: it steps last in an iteration, and least often where one has several steps to another's one.
        self.leader = len(self.optimizers) - 1
        if self.captured:  # what was captured before lacks this one's modules
            self.captured, self.result["captures"], self.wanted = 0, [], list(self.all_wanted)
        return len(self.optimizers) - 1

    def _record(self, loader):
        key = (id(loader.dataset), type(loader.sampler), loader.batch_size)  # some make a new loader every epoch
        if key not in self.loaders:
            self.loaders[key] = LoaderRecord(self.torch, len(self.kept), loader)
            self.kept.append(self.loaders[key])
        return self.loaders[key]

    def fault(self, where, error):
        """Keep what went wrong with us; the program goes on unwatched."""
        self.result["faults"].append("%s: %s: %s" % (where, type(error).__name__, error))
        self.over = True
        window, self.window = self.window, None
        try:
            if isinstance(window, Replay):
                window.arithmetic.leave()
            self.write()
        except Exception as second:
            self.result["faults"].append("ending: %s: %s" % (type(second).__name__, second))

    def write(self):
        """Write the result file, whole or not at all; a process that trained nothing leaves none."""
        if self.pid != os.getpid() or not (self.step or self.result["losses"] or self.result["faults"]):
            return
        crash = getattr(sys, "last_value", None)
        self.result["crash"] = None if crash is None else "%s: %s" % (type(crash).__name__, crash)
        path = os.path.join(self.folder, "equivalence-%s.json" % os.environ.get("RANK", "0"))
        with open(path + ".part", "w", encoding="utf-8") as file:
            own = not self.training_loaders
            json.dump(dict(self.result, closure=self.closure, steps=self.step - self.idle, own_batches=own), file)
        os.replace(path + ".part", path)

    def finish(self):
        """Write and end the program, running none of its code."""
        self.write()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _capture_steps(count, num_steps):
    """Spread `count` steps over the recording: the first after warm-up, early ones and later ones."""
    spread = [1, max(2, num_steps // 2), max(3, num_steps - 1), max(2, num_steps // 4)]
    return sorted({step for step in spread[:count] if step < num_steps})
