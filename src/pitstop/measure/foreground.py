"""Waiting for a program that runs in the foreground, as `time` or `env` would: signals reach it, its exit code is kept."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator

__all__ = ["blocked_signals", "wait_in_foreground"]

_FORWARDED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
_STOPPING = {signal.SIGTSTP}
_BY_KERNEL = 0x80  # SI_KERNEL: from the terminal, which sends it to the program as well (same process group)


@contextlib.contextmanager
def blocked_signals() -> Iterator[list[int]]:
    """Hold back the signals that are the program's business; yields the mask that the program must start with.

    Only the main thread is told of signals: elsewhere this does nothing, and they act on pitstop itself.
    """
    if threading.current_thread() is not threading.main_thread():
        yield [int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, ())]
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED | _STOPPING | {signal.SIGCHLD})
    try:
        yield [int(number) for number in before]
    finally:
        while signal.sigtimedwait(_FORWARDED | _STOPPING, 0):
            pass  # the Ctrl-C that ended the program was meant for the program
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def wait_in_foreground(pid: int, *, ended: Callable[[], bool], tick: Callable[[], None], tick_s: float) -> None:
    """Return once `ended()`; calls `tick` about every `tick_s` and forwards signals to `pid`. Use inside `blocked_signals`."""
    wanted = _FORWARDED | _STOPPING | {signal.SIGCHLD}
    while not ended():
        received = signal.sigtimedwait(wanted, tick_s)
        if received is None or received.si_signo == signal.SIGCHLD:
            tick()
            continue
        from_terminal = received.si_code == _BY_KERNEL
        if not from_terminal:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, received.si_signo)
        if received.si_signo == signal.SIGTSTP:
            os.kill(os.getpid(), signal.SIGSTOP)  # our shell sees us stopped; goes on here after SIGCONT
            if not from_terminal:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
