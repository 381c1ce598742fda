"""What every test can rely on, however the suite was started."""

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def signals_are_heard() -> None:
    """A shell starts background jobs with the keys' signals ignored, nohup ignores another, and children inherit that: tests would wait."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
