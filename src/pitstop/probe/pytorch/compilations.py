"""Times torch.compile at work, by dynamo's own callbacks, which also cover backward graphs compiled late."""

import sys
import time

from ..recorder import COMPILE


def install(hooked):
    """Wait for dynamo, which torch imports when the program first compiles."""
    watch = hooked.session.watch
    watch.before("torch._dynamo", lambda: _pause(hooked))
    watch.when("torch._dynamo", lambda _module: _resume(hooked))
    watch.when("torch._dynamo", lambda _module: _register(hooked))


def _pause(hooked):
    hooked.discovery_was_on = hooked.discovery is not None and hooked.discovery.pause()


def _resume(hooked):
    if hooked.discovery_was_on:
        hooked.discovery.resume()


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
