"""Starting the launcher (`sandbox/inside`) and reading what it says over its pipe."""

import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from pitstop.errors import CouldNotMeasure, WrongUse

__all__ = ["Launched", "start"]

_INSIDE = Path(__file__).parent / "sandbox" / "inside"
# By path and isolated: nothing of the user's environment may change what the protection does.
_BOOTSTRAP = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("inside", sys.argv[1] + "/__init__.py", submodule_search_locations=[sys.argv[1]])
module = importlib.util.module_from_spec(spec)
sys.modules["inside"] = module
spec.loader.exec_module(module)
from inside.main import main
main(sys.argv[2])
"""


class Launched:
    """One launcher process. `started_ns`, `ended`, `failed` fill as its lines arrive through `listen`."""

    def __init__(self, process: "subprocess.Popen[bytes]", report_fd: int) -> None:
        self.pid = process.pid
        self.started_ns: int | None = None
        self.command_pid: int | None = None  # as the program itself sees it
        self.ended: dict[str, Any] | None = None
        self.failed: dict[str, Any] | None = None
        self.read_only: tuple[str, ...] = ()
        self.silent = False  # the pipe has ended: the command runs (plain), or everything is over (sandbox)
        self.exit_status: int | None = None  # of the launcher process itself, as Popen.returncode
        self.rusage_cpu_ns = 0
        self.rusage_peak_bytes = 0
        # The kernel counts what a process held before exec, and until then it shares pitstop's own memory.
        self._peak_before_exec_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self._process = process
        self._report_fd = report_fd
        self._pending = b""

    def listen(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` for news from the launcher and take it in."""
        if self.silent:
            return
        ready, _, _ = select.select([self._report_fd], [], [], timeout_s)
        if not ready:
            return
        data = os.read(self._report_fd, 1 << 16)
        if not data:
            self.silent = True
            os.close(self._report_fd)
            return
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            self._take(json.loads(line))

    def _take(self, line: dict[str, Any]) -> None:
        if "started" in line:
            self.started_ns, self.command_pid = line["started"], line["pid"]
        elif "failed" in line:
            self.failed = line
        elif "ended" in line:
            self.ended = line
        elif "read_only" in line:
            self.read_only = tuple(line["read_only"])

    def reap(self, *, block: bool = False) -> bool:
        """Collect the launcher's exit status if it has ended (or wait for it); True once it has."""
        if self.exit_status is None:
            pid, status, usage = os.wait4(self.pid, 0 if block else os.WNOHANG)
            if not pid:
                return False
            self.exit_status = os.waitstatus_to_exitcode(status)
            self._process.returncode = self.exit_status
            self.rusage_cpu_ns = int((usage.ru_utime + usage.ru_stime) * 1e9)
            peak_bytes = usage.ru_maxrss * 1024
            self.rusage_peak_bytes = peak_bytes if peak_bytes > self._peak_before_exec_bytes else 0
        return True

    def stop(self, *, grace_s: float = 10.0) -> None:
        """End the launcher and everything in its sandbox; returns when it is gone."""
        if self.exit_status is None:
            os.kill(self.pid, signal.SIGTERM)
            deadline = time.monotonic() + grace_s
            while not self.reap() and time.monotonic() < deadline:
                time.sleep(0.01)
            if self.exit_status is None:
                os.kill(self.pid, signal.SIGKILL)
                self.reap(block=True)
        deadline = time.monotonic() + 1.0
        while not self.silent and time.monotonic() < deadline:
            self.listen(0.2)
        if not self.silent:  # a process that could not be ended holds the pipe
            self.silent = True
            os.close(self._report_fd)

    def check_started(self, command: str) -> None:
        """Raise what the launcher reported: the user's command cannot be started, or the sandbox cannot be made."""
        if self.failed is None:
            return
        if self.failed["failed"] in {"exec", "cwd"}:
            raise WrongUse("launch.cannot_start", command=command, why=self.failed["error"])
        raise CouldNotMeasure("sandbox.setup_failed", stage=self.failed["failed"], why=self.failed["error"])


def start(
    launch: dict[str, Any],
    *,
    launch_file: Path,
    env: dict[str, str],
    new_session: bool,
    stdin: int | None = None,
    streams: Mapping[str, int | IO[Any] | None],
) -> Launched:
    """Write `launch_file`, start the launcher on it; `streams` has "stdout" and "stderr" as for subprocess.

    The environment reaches the command as it is.
    """
    reader, writer = os.pipe()
    try:
        os.set_inheritable(writer, True)
        absent = [name for name in ("LC_CTYPE",) if name not in env]
        whole = {**launch, "report_fd": writer, "absent": absent, "parent": os.getpid()}
        launch_file.write_text(json.dumps(whole), encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, str(_INSIDE), str(launch_file)],
            env=env,
            cwd=".",  # keeps subprocess from posix_spawn, with which glibc leaves two signals ignored
            stdin=stdin,
            stdout=streams["stdout"],
            stderr=streams["stderr"],
            # The user's program inherits what the user's shell handed to pitstop; a trial inherits nothing.
            close_fds=new_session,
            pass_fds=(writer,) if new_session else (),
            start_new_session=new_session,
        )
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    return Launched(process, reader)
