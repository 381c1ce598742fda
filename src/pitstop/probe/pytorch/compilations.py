"""Times torch.compile at work, by dynamo's own callbacks, which also cover backward graphs compiled late."""

import functools
import sys
import time

from ..recorder import COMPILE


def install(hooked):
    """Wait for dynamo, which torch imports when the program first compiles."""
    hooked.session.watch.when("torch._dynamo", lambda _module: _begin(hooked))


def _begin(hooked):
    _register(hooked)
    if hooked.discovery is not None:
        hooked.discovery.tell_dynamo()
        _watch_wrappers(hooked)


def _watch_wrappers(hooked):
    """Look for outermost modules again when `torch.compile(model)` makes a new one, which may be long after the first steps."""
    wrapper_class = sys.modules["torch._dynamo.eval_frame"].OptimizedModule
    original = wrapper_class.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):  # noqa: N807 - takes the place of the real one
        original(self, *args, **kwargs)
        try:
            hooked.module_made()
        except Exception as error:
            hooked.session.fault("torch.compile(module)", error)

    wrapper_class.__init__ = hooked.own(__init__)


def _register(hooked):
    callbacks = sys.modules.get("torch._dynamo.callback")
    handler = getattr(callbacks, "callback_handler", None)
    if handler is None:  # torch before 2.3
        return
    session, record, now = hooked.session, hooked.record, time.monotonic_ns
    started = []

    def compile_starts(*_args):
        session.compiles += 1
        started.append(now())

    def compile_ends(*_args):
        if started:
            start_ns = started.pop()
            if hooked.profile:
                record(COMPILE, 0, start_ns, now())

    def register():
        handler.register_start_callback(compile_starts)
        handler.register_end_callback(compile_ends)

    forget = handler.clear

    def clear():
        forget()
        register()

    handler.clear = clear  # torch._dynamo.reset() clears all callbacks
    register()
    frames = sys.modules.get("torch._dynamo.convert_frame")
    for name in ("_compile", "compile_frame"):
        code = getattr(getattr(frames, name, None), "__code__", None)
        if code is not None:
            hooked.categories[code] = "compile"
