"""Optimizers: construction, step (torch's own global hooks, which fire for LBFGS and user subclasses too), zero_grad."""

import functools
import sys
import time
from _thread import get_ident

from ..recorder import OPTIMIZER, ZERO_GRAD
from ..sites import library, stack, user_frame
from .hooked import MAX_OPTIMIZERS
from .loaders import qualified


def install(hooked):
    """Patch construction and `zero_grad`, register the step hooks."""
    module = sys.modules["torch.optim.optimizer"]
    _watch_construction(hooked, module.Optimizer)
    _watch_steps(hooked, module)
    if hooked.profile:
        _watch_zero_grad(hooked, module.Optimizer)


def _watch_construction(hooked, optimizer_class):
    original = optimizer_class.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):  # noqa: N807 - takes the place of the real one
        original(self, *args, **kwargs)
        try:
            _write(hooked, self, sys._getframe(1))
        except Exception as error:
            hooked.session.fault("Optimizer()", error)

    optimizer_class.__init__ = hooked.own(__init__)


def _write(hooked, optimizer, frame):
    number = hooked.optimizers.give(optimizer)
    hooked.clock.expect_optimizer()
    hooked.optimizer_made(number)
    hooked.environment.used()
    if number > MAX_OPTIMIZERS:
        return
    users = user_frame(frame)
    modules = hooked.names.remember(number, users) if users is not None else {}
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    hooked.session.sightings.write(
        "optimizer",
        id=number,
        stack=stack(users),
        library=library(frame),
        optimizer_class=qualified(type(optimizer)),
        num_tensors=len(parameters),
        num_elements=sum(parameter.numel() for parameter in parameters),
        fused=optimizer.defaults.get("fused"),
        foreach=optimizer.defaults.get("foreach"),
        modules=modules,
        devices=sorted({str(parameter.device) for parameter in parameters}),
    )


def _watch_steps(hooked, module):
    put, now, clock, tick = hooked.session.recorder.put, time.monotonic_ns, hooked.clock, hooked.clock.tick
    is_compiling, session, known = hooked.is_compiling, hooked.session, hooked.optimizers.known
    lean, times = hooked.lean, hooked.lean.times
    wait, device = times.append, hooked.device
    started: dict = {}  # id(optimizer) -> the step's start, and the device's event there

    def after_step(optimizer, _args, _kwargs):
        if id(optimizer) == lean.key and get_ident() == lean.thread:
            end_ns = now()
            wait(end_ns)
            if end_ns >= lean.due_ns or len(times) >= lean.many:
                lean.catch_up()
            return
        if is_compiling():
            return
        end_ns = now()
        try:
            key = id(optimizer)
            if key not in known:  # made without Optimizer.__init__, or unpickled
                _write(hooked, optimizer, sys._getframe(1))
            number = known[key][0]
            start_ns, begun = started.pop(key, (end_ns, None))
            put((OPTIMIZER, 0, get_ident(), number, start_ns, end_ns, 0))
            device.end(begun, OPTIMIZER, start_ns, end_ns)
        except Exception as error:
            session.fault("Optimizer.step", error)
            return
        if number == clock.leader:
            tick(OPTIMIZER)
        else:
            hooked.other_optimizer(number)

    if hooked.profile:  # the step's end is all that a clock wants to know
        _watch_starts(hooked, module, started)
    module.register_optimizer_step_post_hook(hooked.own(after_step))
    wrapper = getattr(module.Optimizer.profile_hook_step(after_step), "__code__", None)
    if wrapper is not None:  # the code that runs every step(): the sampler knows by it that a step is running
        hooked.categories[wrapper] = "optimizer"


def _watch_starts(hooked, module, started):
    """Keep when each optimizer's step began in `started`, by its id."""
    now, is_compiling, device = time.monotonic_ns, hooked.is_compiling, hooked.device
    handles: list = []

    def before_step(optimizer, _args, _kwargs):
        if not is_compiling():
            begun = device.begin() if device.on else None
            started[id(optimizer)] = (now(), begun)

    def put():
        if not handles:
            handles.append(module.register_optimizer_step_pre_hook(before_step))

    def take():
        if handles:
            handles.pop().remove()

    hooked.own(before_step)
    put()
    hooked.switched.add(put, take)


def _watch_zero_grad(hooked, optimizer_class):
    original = optimizer_class.zero_grad
    record, now, number_of, is_compiling = hooked.record, time.monotonic_ns, hooked.optimizers.get, hooked.is_compiling

    @functools.wraps(original)
    def zero_grad(self, *args, **kwargs):
        if is_compiling():
            return original(self, *args, **kwargs)
        start_ns = now()
        result = original(self, *args, **kwargs)
        end_ns = now()
        record(ZERO_GRAD, number_of(self), start_ns, end_ns)
        return result

    hooked.switched.patch(optimizer_class, "zero_grad", hooked.own(zero_grad))
