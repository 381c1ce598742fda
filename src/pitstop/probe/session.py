"""Everything that the probe holds in one process, and nothing that it does on the hot path."""

import atexit
import json
import os
from typing import Any

from .import_watch import ImportWatch
from .ranks import Ranks
from .recorder import Recorder
from .sightings import Sightings
from .step_clock import StepClock


class Session:
    """The probe of this process. `quiet`: nothing is written until something happens (a fork server).

    Hooks read `config`, write through `recorder.record` and `sightings.write`, and report steps to `clock`.
    """

    def __init__(self, folder, *, quiet=False):
        self.folder = folder
        self.quiet = quiet
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            self.config = json.load(file)
        self.mode = self.config.get("mode", "profile")
        self.sightings = Sightings(self.stem, folder)
        self.fault = self.sightings.fault
        self.recorder = Recorder(folder, self.fault)
        self.clock = StepClock(
            on_stop=self.on_stop,
            on_fault=self.fault,
            stop_after=self.config.get("stop_after_steps"),
            stop_after_ns=self.config.get("stop_after_ns"),
            stop_min_steps=self.config.get("stop_min_steps") or 0,
        )
        self.ranks = Ranks(folder, self.fault)
        self.clock.together = self.ranks.is_over
        self.watch = ImportWatch(self.fault)
        self.is_worker = False
        self.last_loss = None  # detached
        self.compiles = 0  # compilations begun so far
        self.compiles_before_window = None
        self.sampler: Any = None
        self.is_told_steps = False  # the program says itself where steps end
        self.on_first_step: Any = None  # what the framework's hooks do then
        self.forked = []  # called in every forked child
        self.ending = []  # called before the last events are written
        atexit.register(self.on_exit)  # before the program registers anything, so it runs after all of that

    def stem(self):
        """Return how the names of this process's files begin."""
        return self.recorder.stem

    def on_argparse(self, argparse):
        """Watch options: the program imported argparse."""
        from .options import install

        install(argparse, self)

    def on_torch(self, torch):
        """Install the hooks: the program imported torch."""
        if self.mode == "equivalence":
            from . import equivalence

            config = dict(self.config.get("equivalence") or {}, folder=self.folder)
            config.setdefault("stop_after_steps", self.config.get("stop_after_steps"))
            equivalence.install(config, self.recorder)
            return
        from .pytorch import install

        install(torch, self)

    def told_first_step(self):
        """Begin to look: the program may use nothing that any hook sees."""
        self.is_told_steps = True
        try:
            if self.on_first_step is not None:
                self.on_first_step()
            elif self.mode == "profile":
                self.sample({})
                if self.sampler is not None:
                    self.sampler.start()
        except Exception as error:
            self.fault("pitstop.step", error)

    def sample(self, categories):
        """Have a sampler, if one is wanted; `categories`: code object -> category of the ledger."""
        hz = self.config.get("sample_hz") or 0
        if self.sampler is not None:
            self.sampler.categories = categories
        elif hz > 0:
            from .sampler import Sampler

            self.sampler = Sampler(self, hz, categories)
            self.forked.append(self.sampler.forget)

    def be_worker(self):
        """Take in that this process is a loader's worker."""
        self.is_worker = True
        self.recorder.be_worker()
        if self.sampler is not None:
            self.sampler.start()

    def before_fork(self):
        """No thread of ours may be running while the process forks."""
        try:
            if self.sampler is not None:
                self.sampler.stop()
                self.clock.at_next_step(self.sampler.start)
        except Exception as error:
            self.fault("before fork", error)

    def after_fork(self):
        """In a forked child: forget the parent's file, steps and threads."""
        try:
            self.recorder.after_fork()
            self.clock.reset()
            self.ranks.forget()
            self.is_worker = False
            self.last_loss = None
            for callback in self.forked:
                callback()
        except Exception as error:
            self.fault("after fork", error)

    def on_stop(self):
        """Write everything and end the program, running none of its code: the wanted steps are done."""
        self.finish("stopped")
        self.ranks.meet()
        os._exit(0)

    def on_exit(self):
        """Write everything: the interpreter is ending by itself."""
        self.finish("exit")

    def finish(self, reason):
        """Write samples and `end.json`, and close the event file."""
        from .ending import write_end

        try:
            if self.sampler is not None:
                self.sampler.stop()
                self.sampler.write()
            for callback in self.ending:
                callback()
            write_end(self, reason)
            self.recorder.close()
        except Exception as error:
            self.fault("finish", error)
