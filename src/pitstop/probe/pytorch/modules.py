"""Outermost modules: found in the first steps by a patch of `Module.__call__`, then timed by one descriptor on their class.

`Module.__call__` asks `self._compiled_call_impl` before it runs `_call_impl`; a descriptor of that name on the class of an
outermost module answers for that very instance and says None for all others. Nothing is stored in the instance, so pickles,
deep copies and `torch.save(model)` are as without us, and other modules are free. Facts that this rests on, tried with torch
2.13: graphs, graph breaks and recompiles stay the same for `torch.compile(model)`, `model.compile()` and compiled functions.
"""

import functools
import sys
import time
import weakref
from _thread import get_ident
from functools import partial
from typing import Any

from ..recorder import FETCH, FORWARD
from . import finding
from .finding import call_module
from .hooked import BACKWARD_RUNS
from .module_sightings import ModuleSightings

DISCOVERY_STEPS = 3
_KNOWS_CALL = ("torch._dynamo.utils", "torch._dynamo.variables.nn_module")
DISCOVERY_CALLS = 64  # outermost calls after which the search ends where nothing ends a step


def install(hooked):
    """Begin to look for outermost modules."""
    forwards = Forwards(hooked)
    hooked.discovery = Discovery(hooked, forwards)
    _watch_compile(hooked, hooked.torch.nn.Module, forwards)
    hooked.switched.add(forwards.resume, forwards.pause)
    hooked.discovery.begin()


class Forwards:
    """Times calls of outermost modules. `call(run, module, number, *args, **kwargs)` runs one and returns its result."""

    def __init__(self, hooked):
        self.hooked = hooked
        self.sightings = ModuleSightings(hooked)
        self._timed = {}  # id(module) -> (number, weak reference that removes the entry)
        self._classes = set()
        self._leader = 0
        hooked.own(self._look, deep=True)
        self.call = self._make_call()
        self._descriptor = self._make_descriptor()

    def add(self, module):
        """Time the calls of this instance from now on; return its number."""
        key = id(module)
        if key not in self._timed:
            self.hooked.environment.used()
            inner = getattr(module, "_orig_mod", None)  # torch.compile's wrapper counts as the module that it wraps
            number = self.hooked.modules.give(module if inner is None else inner)
            self.hooked.modules.share(module, number)
            if self._leader == 0 and next(module.parameters(), None) is not None:
                self._leader = number  # it paces programs that only run forward
            self.hooked.names.name(module, number)
            self._timed[key] = (number, weakref.ref(module, lambda _gone: self._timed.pop(key, None)))
            kind = type(module)
            if kind not in self._classes and "_compiled_call_impl" not in kind.__dict__:  # as in nn.Module itself
                self._classes.add(kind)
                kind._compiled_call_impl = self._descriptor
        return self._timed[key][0]

    def pause(self):
        """Time no calls for a while.

        The attribute is not deleted: `Module.__call__` reads it twice, and another thread between the two would call None.
        """
        for kind in self._classes:
            if kind.__dict__.get("_compiled_call_impl") is self._descriptor:
                kind._compiled_call_impl = kind._call_impl

    def resume(self):
        """Time calls again."""
        for kind in self._classes:
            if kind.__dict__.get("_compiled_call_impl") is kind._call_impl:
                kind._compiled_call_impl = self._descriptor

    def end(self):
        """Time no more calls: forwards cannot end steps any more, and nothing else of them is wanted."""
        for kind in self._classes:
            if kind.__dict__.get("_compiled_call_impl") in (self._descriptor, kind._call_impl):
                del kind._compiled_call_impl
        self._classes.clear()
        self._timed.clear()

    def _make_descriptor(self):
        timed, is_compiling, call = self._timed, self.hooked.is_compiling, self.call

        def __get__(_self, module, _owner=None):  # noqa: N807
            if is_compiling():
                return None
            entry = timed.get(id(module))
            return None if entry is None else partial(call, module._call_impl, module, entry[0])

        # It reduces to None, for picklers that write the user's class by value (cloudpickle).
        methods = {"__get__": self.hooked.own(__get__), "__reduce__": lambda _self: (type(None), ())}
        return type("TimedCall", (), methods)()

    def _make_call(self):
        hooked = self.hooked
        record, now, busy, clock, looking = hooked.record, time.monotonic_ns, hooked.busy, hooked.clock, hooked.looking
        grad_enabled, fault, device = hooked.torch.is_grad_enabled, hooked.session.fault, hooked.device

        def call(run, module, number, *args, **kwargs):
            ident = get_ident()
            if busy and (ident in busy or BACKWARD_RUNS in busy):
                return run(*args, **kwargs)
            if looking.open:
                self._look(number, module, args, kwargs)
            busy.add(ident)
            begun = device.begin() if device.on else None
            start_ns = now()
            try:
                result = run(*args, **kwargs)
            finally:
                end_ns = now()
                busy.discard(ident)
            if begun is not None:
                device.end(begun, FORWARD, start_ns, end_ns)
            try:
                record(FORWARD, number, start_ns, end_ns, 0, module.training + 2 * grad_enabled())
            except Exception as error:
                fault("forward", error)
            if number == self._leader:
                clock.tick(FORWARD)
            return result

        hooked.own(device.begin, deep=True)
        hooked.own(device.end, deep=True)
        return hooked.own(call, "forward")

    def _look(self, number, module, args, kwargs):  # deep: may run inside a compiled call
        if self.hooked.torch._C._get_tracing_state():
            return  # whatever is asked of a tensor now becomes part of the traced graph
        try:
            compiled = "_compiled_call_impl" in module.__dict__
            if self.hooked.looking.is_new("forward", number, module.training, type(module), compiled):
                self.sightings.write(number, module, args, kwargs)
        except Exception as error:
            self.hooked.session.fault("look at forward", error)


class Discovery:
    """The patch of `Module.__call__` that finds modules called while no other module call is active in the thread."""

    def __init__(self, hooked, forwards):
        self._hooked = hooked
        self.forwards = forwards
        self._class = hooked.torch.nn.Module
        self._original = self._class.__call__
        self._finding = hooked.own(functools.update_wrapper(call_module, self._original))
        finding.connect(self._original, hooked, self.found)
        hooked.own(self.found, deep=True)
        self._calls_left = 0
        self._round = 0

    def begin(self):
        """Look for some steps, beginning now."""
        if self._hooked.session.is_worker:
            return
        self._round += 1
        this_round = self._round
        self._calls_left = DISCOVERY_CALLS
        self._replace(self._original, self._finding)
        self._hooked.clock.after(DISCOVERY_STEPS, lambda: self._over(this_round))

    def _over(self, this_round):
        if this_round != self._round or self._calls_left <= 0:
            return
        if self._hooked.clock.leading == FETCH:
            # Batches alone say nothing: libraries ask for several ahead, and some programs go through the data once before.
            steps = max(DISCOVERY_STEPS, self._hooked.clock.steps)
            self._hooked.clock.after(steps, lambda: self._over(this_round))
        else:
            self.end()

    def end(self):
        """Take the patch away, if nobody has patched over it."""
        self._calls_left = 0
        self._replace(self._finding, self._original)

    def tell_dynamo(self):
        """Let dynamo, newly imported, take the patch for the real thing, or it traces and guards what it would not without us."""
        self._replace(self._class.__call__, self._class.__call__)

    def _replace(self, old, new):
        if self._class.__call__ is not old:
            return
        self._class.__call__ = new
        for name in _KNOWS_CALL:
            module: Any = sys.modules.get(name)
            if module is not None and getattr(module, "unpatched_nn_module_call", None) in {
                self._original,
                self._finding,
            }:
                module.unpatched_nn_module_call = new

    def found(self, module):
        """Take in that `module` is about to be called while no other is."""
        try:
            self._calls_left -= 1
            if self._calls_left <= 0:
                self.end()
            if not getattr(module, "_is_replica", False):  # DataParallel's throw-away copies
                self.forwards.add(module)
        except Exception as error:
            self._hooked.session.fault("discovery", error)


def _watch_compile(hooked, module_class, forwards):
    """`Module.compile` stores what to call in the instance, in front of our descriptor: time that instead."""
    original = getattr(module_class, "compile", None)
    if original is None:
        return

    @functools.wraps(original)
    def compile(self, *args, **kwargs):  # noqa: A001
        original(self, *args, **kwargs)
        try:
            compiled = self.__dict__["_compiled_call_impl"]
            self.__dict__["_compiled_call_impl"] = partial(forwards.call, compiled, self, forwards.add(self))
            hooked.looking.again()
        except Exception as error:
            hooked.session.fault("Module.compile", error)

    module_class.compile = hooked.own(compile)
