"""Waiting for a program that runs in the foreground, as `time` or `env` would: signals reach it, its exit code is kept."""

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["Foreground"]

_FORWARDED = (
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTSTP,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_KEYS = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP})  # those that a terminal sends to the whole group


class Foreground:
    """Keeps signals away from pitstop and hands them to the program.

    Handlers, not a blocked mask with sigwaitinfo: libraries (OpenBLAS, polars) have started threads that do not block
    the signals, and the default action there would end pitstop. What is lost is who sent a signal, so one that keys of
    the terminal can send is taken as theirs while pitstop's group is the one that the terminal sends them to.
    """

    def __init__(self) -> None:
        self._pid: int | None = None
        self._early: list[int] = []  # came before there was a program

    @contextlib.contextmanager
    def holding_signals(self) -> Iterator[None]:
        """Take the program's signals meanwhile. Only the main thread can: elsewhere they act on pitstop."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        # A signal that pitstop was told to ignore (nohup, a background job) stays ignored, for the program as well.
        before = {number: signal.getsignal(number) for number in _FORWARDED}
        taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
        for number in taken:
            signal.signal(number, self._handle)
        try:
            yield
        finally:
            for number in taken:
                signal.signal(number, before[number] or signal.SIG_DFL)

    def wait(self, pid: int, *, ended: Callable[[], bool], tick: Callable[[], None], tick_s: float) -> None:
        """Return once `ended()`; calls `tick` about every `tick_s`. Use inside `holding_signals`."""
        self._pid = pid
        for number in self._early:
            self._send(number)
        descriptor = os.pidfd_open(pid)
        try:
            while not ended():
                select.select([descriptor], [], [], tick_s)
                tick()
        finally:
            os.close(descriptor)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        by_keys = number in _KEYS and _is_foreground()
        if not by_keys:
            if self._pid is None:
                self._early.append(number)
            else:
                self._send(number)
        if number == signal.SIGTSTP:
            # Our shell sees us stopped, and it goes on here after SIGCONT. The default action, since the kernel drops it where no
            # shell could continue us (an orphaned process group).
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            signal.signal(number, self._handle)
            self._send(signal.SIGCONT)

    def _send(self, number: int) -> None:
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, number)


def _is_foreground() -> bool:
    """Whether the terminal sends its keys' signals to our process group (and the program, which is in it, has them)."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
