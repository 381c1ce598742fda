"""A thread that looks at the main thread's stack some times per second: what the program is doing inside each category.

The category is read off the stack itself (one of our wrappers, or torch's own, is on it while the main thread is inside), so
that it costs the hot path nothing. The thread is a bare one: `threading.enumerate()` of the program does not show it.
"""

import _thread
import json
import os
import sys
import threading
from typing import Any

from .loggers import is_logging, prints
from .sites import absolute, is_users
from .waits import what_waits

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
MAX_PLACES = 20_000
LOGS = "python/logging"  # in no event, but in a library that logs
# A thread that wants the interpreter takes it by force after this time; before, it gets it only where the main thread gives it up, in a
# call into C. A loop of pure Python that is over sooner would always be taken for the call after it: with Python's own 5 ms, whole
# environments of reinforcement learning. Only threads that
# compete for the interpreter switch more often by it, and only profiles sample.
_USUAL_SWITCH_S, _SWITCH_S = 0.005, 0.001
# In the first second it looks more often: programs that are over by then would have a handful of samples else. If it goes on for longer, only
# every fifth of those looks counts, so that each sample stands for the same time.
_EARLY = 5
_EARLY_S = 1.0
_WRITE_EVERY = 200  # samples between two writes, so that kill -9 loses little


def _never():
    return False


class Sampler:
    """Counts "category|file:line function > library frame" of the main thread. `categories`: code object -> category."""

    def __init__(self, session, hz, categories):
        self._session = session
        self._period_s = 1.0 / hz
        self.categories = categories
        self._counts = {}
        self._early: Any = {}  # those of all early looks; None once early is over
        self._looks, self._last_early = 0, round(_EARLY * hz * _EARLY_S)
        self._names = {}
        self._wake: Any = None
        self._done: Any = None
        self._paused = False
        self.uses_device = _never  # a question
        self.weight = 1  # of a sample: a burst speaks for the pause before it

    def start(self):
        """Begin sampling if no thread is at it, and nobody wants none."""
        if self._wake is not None or self._paused:
            return
        wake, done = _thread.allocate_lock(), _thread.allocate_lock()
        wake.acquire()
        done.acquire()
        try:
            _thread.start_new_thread(self._run, (wake, done, threading.main_thread().ident))
        except RuntimeError as error:  # no more threads allowed, or the interpreter is ending
            self._session.fault("sampler", error)
            return
        self._wake, self._done = wake, done
        if sys.getswitchinterval() == _USUAL_SWITCH_S:  # else it is the program's own choice
            sys.setswitchinterval(_SWITCH_S)

    def stop(self):
        """End the thread and wait for it; it wakes at once."""
        wake, done = self._wake, self._done
        if wake is None:
            return
        self._wake = None
        _switch_as_usual()
        wake.release()
        done.acquire(True, 1.0)

    def pause(self):
        """Take no samples until `resume`: the hooks that tell categories are away."""
        self._paused = True
        self.stop()

    def resume(self):
        """Sample again."""
        self._paused = False
        self.start()

    def forget(self):
        """In a forked child: there is no thread, and the samples are the parent's."""
        self._paused, self.weight = False, 1
        self._early, self._looks = {}, 0
        self._counts, self._names, self._wake, self._done = {}, {}, None, None
        _switch_as_usual()

    def write(self):
        """Write the samples so far, whole or not at all."""
        counts = self._early or self._counts
        if not counts:
            return
        samples: dict = {}
        for key, count in list(counts.items()):
            text = self._text(key)
            samples[text] = samples.get(text, 0) + count
        path = os.path.join(self._session.folder, self._session.recorder.stem + ".samples.json")
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump(samples, file)
        os.replace(path + ".part", path)

    def _run(self, wake, done, main):
        try:
            taken = 0
            if self._session.is_worker:  # its samples are added to those of its neighbours
                self._early = None
            while not wake.acquire(True, self._period_s if self._early is None else self._period_s / _EARLY):
                if not self._look(main):
                    break
                if not self._counts_look():
                    continue
                self._session.recorder.flush()  # what waits there is at most so old, even when the program hangs
                taken += 1
                if taken % _WRITE_EVERY == 0:
                    self.write()
        except Exception as error:
            self._session.fault("sampler", error)
        finally:
            done.release()

    def _counts_look(self):
        """Go on to the next look; tell whether the one that is over counts for the whole run."""
        counted = self._is_counted()
        self._looks += 1
        if self._looks >= self._last_early:
            self._early = None
        return counted

    def _is_counted(self):
        return self._early is None or self._looks % _EARLY == 0

    def _look(self, main):
        """Take one sample. No frame outlives this call: it would keep the program's tensors alive, and free them in this thread."""
        frame = sys._current_frames().get(main)
        if frame is not None:
            self._take(frame)
        return frame is not None

    def _take(self, frame):
        innermost = frame
        categories, category, users, logs = self.categories, None, None, False
        outermost = frame
        if self._session.is_worker:
            categories, category = {}, "worker"
        while frame is not None:
            outermost, code = frame, frame.f_code
            if category == "worker" and code.co_name == "_worker_loop":
                break  # the frames outside of a forked worker's loop are the parent's
            if users is None and is_users(code.co_filename):
                users = (code, frame.f_lineno)
            elif users is None and not logs:
                logs = is_logging(code.co_filename)
            if category is None:
                category = categories.get(code)
            if users is not None and category is not None:
                break
            frame = frame.f_back
        is_over = category != "worker" and not _is_program(outermost)
        if users is None and (innermost.f_code.co_filename.startswith(_OWN) or is_over):
            return  # the probe itself at the program's start or end, or what runs when the program is over
        if category is None:
            category = self._outside_events(innermost, logs)
        self._count(category, users, innermost.f_code)

    def _count(self, category, users, code):
        key = (category, users, None if users is not None and code is users[0] else code)
        if self._is_counted():
            self._add(self._counts, key)
        if self._early is not None:
            self._add(self._early, key)

    def _add(self, counts, key):
        if key in counts:
            counts[key] += self.weight
        elif len(counts) < MAX_PLACES:
            counts[key] = self.weight

    def _outside_events(self, innermost, logs):
        if logs:
            return LOGS
        waits = what_waits(innermost.f_code, innermost.f_lasti) if self.uses_device() else None
        return waits or "python"

    def _text(self, key):
        category, users, library = key
        text = "?"
        if users is not None:
            code, line = users
            if category == "python" and library is None and prints(code.co_filename, line):
                category = LOGS
            name = code.co_filename if code.co_filename.startswith("<") else absolute(code.co_filename)
            text = "%s:%s %s" % (name, line, getattr(code, "co_qualname", code.co_name))
        if library is not None:
            parts = library.co_filename.replace("\\", "/").split("/")
            text += " > %s %s" % ("/".join(parts[-2:]), library.co_name)
        return category + "|" + text


def _switch_as_usual():
    if sys.getswitchinterval() == _SWITCH_S:
        sys.setswitchinterval(_USUAL_SWITCH_S)


def _is_program(outermost):
    """Tell whether the main thread runs the program: a script or module, no hook of the interpreter's end."""
    return outermost.f_code.co_name in ("<module>", "_run_module_as_main")
