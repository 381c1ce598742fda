"""A headless Chromium driven over its debugging pipe: standard library only, no port, one page."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


class Page:
    """One page. `events` holds every event that came so far, in order."""

    def __init__(self, *, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._buffer = b""
        self._last_id = 0
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._last_id += 1
        message: dict[str, Any] = {"id": self._last_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._last_id:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method: str) -> dict[str, Any]:
        """Return the first event `method`, waiting until it comes; the pipe ends if the browser dies."""
        while True:
            for event in self.events:
                if event["method"] == method:
                    return event
            self.events.append(self._next())

    def evaluate(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def open(self, path: Path) -> None:
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait_for("Page.loadEventFired")

    def show_as(self, *, width: int, height: int = 900, scheme: str = "light", phone: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise EOFError("chromium ended")
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


@contextmanager
def browser_page(executable: str, *, profile: Path) -> Iterator[Page]:
    """Start Chromium with a new profile; its page reports loads, console messages, requests and policy violations."""
    to_child, write = os.pipe()
    read, from_child = os.pipe()

    def wire() -> None:
        # The protocol speaks on descriptors 3 and 4. Both ends are first moved out of the way of those numbers.
        high_in, high_out = os.dup(to_child), os.dup(from_child)
        os.dup2(high_in, 3)
        os.dup2(high_out, 4)
        os.set_inheritable(3, True)
        os.set_inheritable(4, True)

    process = subprocess.Popen(
        [executable, *FLAGS, f"--user-data-dir={profile}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=False,
        preexec_fn=wire,  # noqa: PLW1509  no threads here, and pass_fds keeps numbers instead of choosing them
    )
    os.close(to_child)
    os.close(from_child)
    page = Page(read=read, write=write)
    try:
        target = page.call("Target.createTarget", url="about:blank")["targetId"]
        page.session = page.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        yield page
        page.session = None
        page.call("Browser.close")
    finally:
        os.close(write)
        process.terminate()
        process.wait(timeout=30)
        os.close(read)
