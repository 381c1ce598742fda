"""The course of one equivalence run: record N steps, then replay, then end the program."""

import atexit
import json
import math
import os
import sys
from typing import Any

from . import equivalence_closures
from .equivalence_capture import Capture, trained_by
from .equivalence_data import LoaderRecord
from .equivalence_hand import HandUpdate
from .equivalence_replay import Replay
from .equivalence_state import TrainedState, hyperparameters

__all__ = ["Session"]

SCHEMA = 1
CAPTURE_BYTES = 2 << 30
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
        self.queue = None  # (capture number, variant) still to replay; None while recording
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
            return self.window.fetch(number) if self.window is not None else None
        self._record(loader).add(batch, ids)
        self.counts[1] += 1
        if self.step <= 1:
            self.training_loaders.add(number)
        if isinstance(self.window, Capture):
            if number in self.training_loaders:
                self.window.fetch(number, batch)
            else:
                self.window.spoiled = "another loader in between"
        return None

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

    def on_backward(self, tensors):
        """Note what goes backward."""
        if self.hand is not None and not self.closure and (self.hand_works or self.hand.is_odd()):
            self.closure = True  # as with a closure: no step can be computed again by itself
        value = 0.0
        for tensor in tensors if isinstance(tensors, (list, tuple)) else [tensors]:
            value += float(tensor.detach().double().sum())
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
        if self.queue is None:
            self._end_recorded_step()
        elif self.window is not None:
            self.result["replays"].append(self.window.end(self.folder))
            self.window = None
        self.step += 1
        self.counts, self.now, self.settings_now = [0, 0, 0, 0], [], []
        if self.state_of != len(self.optimizers):
            self.state, self.state_of = TrainedState(self.torch, self.optimizers), len(self.optimizers)
        if self.queue is None and self.step == self.num_steps:
            self._end_recording()
        if self.stop_after is not None and self.step >= self.stop_after:
            self.finish()
        if self.queue is None:
            self._begin_capture()
        elif self.queue:
            number, variant = self.queue.pop(0)
            self.window = Replay(
                self.torch,
                self.replay_from,
                number,
                variant,
                settings=[] if self.in_phase else self.settings,
                references=self.references,
            )
            self.window.begin(self.state, self.optimizers)
        else:
            self.finish()

    def _end_recorded_step(self):
        result = self.result
        result["finite"] = result["finite"] and all(math.isfinite(value) for value in self.now)
        result["losses"].append([value if math.isfinite(value) else None for value in self.now])
        result["rhythm"].append(self.counts)
        self.settings.append(self.settings_now)
        window, self.window = self.window, None
        if window is not None and window.spoiled is None and not self.closure:
            result["captures"].append(self.step)
            self.capture_bytes -= window.save(self.folder, self.captured)
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

    def pause_modes(self):
        """Let the program's loader work in the program's own arithmetic."""
        if isinstance(self.window, Replay):
            self.window.arithmetic.pause()

    def resume_modes(self):
        """Go back to the replayed arithmetic."""
        if isinstance(self.window, Replay):
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
            json.dump(dict(self.result, closure=self.closure, steps=self.step, own_batches=own), file)
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
