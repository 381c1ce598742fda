"""What the hooks of one process share: numbers of objects, which threads are inside a call, and how dynamo is kept away."""

import sys
from typing import Any

from ..recorder import FORWARD
from ..sightings import Numbers
from .device_marks import DeviceMarks
from .frame_names import FrameNames
from .lean import Lean
from .looking import Looking
from .reductions import Reductions
from .switched import Switched
from .writing import Writing

MAX_OPTIMIZERS = 64  # described; meta-learning makes one per task
BACKWARD_RUNS = 0  # in `busy` while a backward runs: autograd may call modules from threads of its own


class Hooked:
    """Shared state. `busy` holds the ident of every thread inside a module call, fetch or backward (no ident is 0)."""

    def __init__(self, torch, session):
        self.torch = torch
        self.session = session
        self.profile = session.mode == "profile"
        self.record = session.recorder.record
        self.clock = session.clock
        self.categories = {}  # code object -> category of the ledger, for the sampler
        self.busy = set()
        self.modules = Numbers()
        self.loaders = Numbers()
        self.optimizers = Numbers()
        self.clock.is_alive = self.optimizers.is_alive
        self.looking = Looking(self)
        self.names = FrameNames(self)
        self.switched = Switched(self)
        self.lean = Lean(self)
        self.device = DeviceMarks(self)
        self.writing = Writing(session.clock, session.recorder)
        self.reductions = Reductions(self)
        self.bursts: Any = None  # in profile mode
        self.pipelines: Any = None  # in profile mode
        self.environment: Any = None
        self.discovery: Any = None
        self.is_compiling = _is_compiling(torch)
        clock = self.clock
        for function in (
            self.record,
            clock.tick,
            clock.optimizer,
            self.other_optimizer,
            clock.is_outranked,
            self.lean.catch_up,
            session.fault,
        ):
            self.own(function, deep=True)

    def loader_begins(self):
        """See details. Never raises."""
        try:
            if self.bursts is not None:
                self.bursts.loader_begins()
        except Exception as error:
            self.session.fault("a loader begins", error)

    def phase_begins(self):
        """Look closer: a loader is iterated for the first time, so other modules may be called, from other places."""
        if self.bursts is not None:
            self.bursts.resume()
        self.environment.used()
        self.module_made()

    def module_made(self):
        """Look for outermost modules and new places again, unless forwards are of no interest."""
        self.looking.again()
        if self.discovery is not None and (self.profile or not self.clock.is_outranked(FORWARD)):
            self.discovery.begin()

    def optimizer_made(self, number):
        """Stop watching forwards where they were only watched as what might end steps; what it trains may be another phase."""
        if self.bursts is not None:
            self.bursts.resume()
        if self.profile and number <= MAX_OPTIMIZERS:
            self.module_made()
        if not self.profile and self.discovery is not None:
            self.discovery.end()
            self.discovery.forwards.end()

    def other_optimizer(self, number):
        """Take in a step of an optimizer that does not end steps (yet); the one that does may never step again."""
        self.session.recorder.flush()
        self.clock.optimizer(number)
        if self.bursts is not None:
            self.bursts.look_at_time()

    def forget(self):
        """In a forked child: nobody is inside anything."""
        self.busy.clear()
        self.switched.put()
        self.lean.forget()
        self.device.forget()
        self.writing.forget()
        if self.bursts is not None:
            self.bursts.forget()
        if self.pipelines is not None:
            self.pipelines.forget()
        self.environment.forget()

    def begin_window(self):
        """Count compilations from here on: warm-up is over."""
        self.session.compiles_before_window = self.session.compiles

    def own(self, function, category=None, *, deep=False):
        """Tell dynamo that this wrapper is library code, not the program's, and the sampler what it means to be in it.

        Without this dynamo compiles the wrapper's frame where it would have left torch's own alone, and graphs change.
        `deep`: what the function calls is ours as well, so dynamo stays out until it returns.
        """
        code = function.__code__
        if category is not None:
            self.categories[code] = category
        frames: Any = getattr(self.torch._C, "_dynamo", None)
        frames = getattr(frames, "eval_frame", None)
        if hasattr(frames, "set_code_exec_strategy"):
            skip, default = frames._FrameAction.SKIP, frames._FrameAction.DEFAULT
            frames.set_code_exec_strategy(code, frames._FrameExecStrategy(skip, skip if deep else default))
        elif hasattr(frames, "skip_code"):  # before torch 2.7
            frames.skip_code(code)
        return function


def _is_compiling(torch):
    """Return a question of torch's that dynamo knows the answer to while it traces; the first is the cheapest."""
    compiler: Any = getattr(torch, "compiler", None)
    for name in ("is_dynamo_compiling", "is_compiling"):
        if hasattr(compiler, name):
            return getattr(compiler, name)
    return sys.modules["torch._utils"].is_compiling
