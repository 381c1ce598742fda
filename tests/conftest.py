"""What every test can rely on, however the suite was started."""

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def keys_are_heard() -> None:
    """A shell starts background jobs with the keys' signals ignored, and children inherit that: tests that send them would wait."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
