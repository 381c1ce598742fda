"""A program under `pitstop profile` runs as it would without: streams, exit code, signals, environment, what it leaves."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from pitstop.errors import WrongUse
from pitstop.measure.launch import run_program
from pitstop.records import Program, Run

DRIVER = """
import sys, msgspec
from pathlib import Path
from pitstop.measure.launch import run_program
from pitstop.records import Program
folder = Path(sys.argv[1])
run = run_program(
    Program(argv=tuple(sys.argv[2:]), cwd=str(folder)), folder=folder / "run", project_root=folder, probe=None
)
(folder / "run.json").write_bytes(msgspec.json.encode(run))
sys.exit(run.exit_code)
"""


def _driver(folder: Path, *argv: str) -> list[str]:
    return [sys.executable, "-c", DRIVER, str(folder), *argv]


def _python(text: str) -> tuple[str, str, str]:
    return (sys.executable, "-c", text)


def _run(folder: Path) -> Run:
    return msgspec.json.decode((folder / "run.json").read_bytes(), type=Run)


def _wait_for(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("raise SystemExit(5)", 5),
        ("pass", 0),
        ("import os; os.abort()", 134),
        ("import os; os.kill(os.getpid(), 9)", 137),
    ],
)
def test_exit_code_is_the_programs_own_or_128_and_the_signal(tmp_path, text, code):
    done = subprocess.run(_driver(tmp_path, *_python(text)), check=False, capture_output=True)
    assert done.returncode == code
    assert _run(tmp_path).exit_code == code


def test_streams_pass_through_untouched(tmp_path):
    text = "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.stderr.write('warned')"
    done = subprocess.run(_driver(tmp_path, *_python(text)), check=False, capture_output=True, input=b"caf\xc3\xa9 in")
    assert (done.stdout, done.stderr, done.returncode) == ("CAFÉ IN".encode(), b"warned", 0)


def test_other_descriptors_and_a_terminal_are_inherited(tmp_path):
    reader, writer = os.pipe()
    main, side = pty.openpty()
    text = f"import os, sys; os.write({writer}, b'through'); print(sys.stdout.isatty())"
    subprocess.run(_driver(tmp_path, *_python(text)), check=True, pass_fds=(writer,), stdout=side)
    assert os.read(reader, 100) == b"through"
    assert os.read(main, 100) == b"True\r\n"
    for descriptor in (reader, writer, main, side):
        os.close(descriptor)


@pytest.mark.parametrize(
    "argv",
    [
        ("/usr/bin/env",),
        ("/bin/grep", "-E", "Sig(Blk|Ign|Cgt)|Umask|Seccomp:|NoNewPrivs|Cap", "/proc/self/status"),
        ("/bin/ls", "/proc/self/fd"),
        ("/bin/sh", "-c", "ulimit -a; pwd; ps -o pgid= -p $$ | grep -c $(ps -o pgid= -p $PPID)"),
    ],
)
def test_a_process_starts_as_without_pitstop(tmp_path, argv):
    """The same environment, signals, powers, descriptors, limits; in the group of its parent."""
    environment = {"PATH": os.environ["PATH"], "KEPT": "1", "PYTHONHASHSEED": "7", "LANG": "C"}
    driver = _driver(tmp_path, *argv)
    plain = subprocess.run(
        argv, check=True, capture_output=True, env=environment, cwd=tmp_path, stdin=subprocess.DEVNULL
    )
    under = subprocess.run(driver, check=True, capture_output=True, env=environment, stdin=subprocess.DEVNULL)
    assert under.stdout == plain.stdout


HANDLER = """
import signal, sys, time
seen = []
def handle(number, frame):
    seen.append(number)
    print("got", number, flush=True)
    if number == signal.SIGTERM: sys.exit(40 + len(seen))
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1): signal.signal(number, handle)
print("up", flush=True)
while True: time.sleep(0.05)
"""


def test_signals_sent_to_pitstop_reach_the_program_once(tmp_path):
    with subprocess.Popen(_driver(tmp_path, *_python(HANDLER)), stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout.readline() == "up\n"
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            driver.send_signal(number)
            assert driver.stdout.readline() == f"got {number}\n"
        driver.send_signal(signal.SIGTERM)
        assert driver.wait(30) == 44, "one SIGTERM, three before it, and the run was finished"
    assert _run(tmp_path).exit_code == 44


def test_ctrl_c_at_a_terminal_reaches_the_program_once(tmp_path):
    """The terminal sends it to the whole group: forwarding it as well would interrupt the program's own clean-up."""
    pid, terminal = pty.fork()
    if not pid:
        os.execv(sys.executable, _driver(tmp_path, *_python(HANDLER)))  # noqa: S606
    output = b""

    def read_until(wanted: bytes) -> None:
        nonlocal output
        while wanted not in output:
            assert select.select([terminal], [], [], 60)[0], output
            output += os.read(terminal, 1000)

    read_until(b"up")
    os.write(terminal, b"\x03")
    read_until(b"got 2\r\n")
    os.kill(pid, signal.SIGTERM)
    read_until(b"got 15\r\n")
    assert output.count(b"got 2\r\n") == 1
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42
    os.close(terminal)


def test_stopping_and_continuing_pitstop_stops_and_continues_the_program(tmp_path):
    # A group of its own, as a shell gives a job: the kernel stops no group that has no parent outside of it in its session.
    with subprocess.Popen(
        _driver(tmp_path, *_python(HANDLER)), stdout=subprocess.PIPE, text=True, process_group=0
    ) as driver:
        assert driver.stdout.readline() == "up\n"
        driver.send_signal(signal.SIGTSTP)
        program = next(
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and _parent(entry) == driver.pid
        )
        _wait_for(lambda: _state(program) == "T" and _state(driver.pid) == "T", "not stopped")
        driver.send_signal(signal.SIGCONT)
        _wait_for(lambda: _state(program) == "S", "not continued")
        driver.send_signal(signal.SIGTERM)
        assert driver.stdout.readline() == "got 15\n"


def _fields(process: Path) -> list[str]:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["", "-1"]


def _parent(process: Path) -> int:
    return int(_fields(process)[1])


def _state(pid: int) -> str:
    return _fields(Path(f"/proc/{pid}"))[0]


def test_a_daemon_that_the_program_leaves_goes_on(tmp_path):
    """As without pitstop: `profile` ends nothing that it did not start."""
    text = "import subprocess; print(subprocess.Popen(['sleep', '1000'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)"
    done = subprocess.run(_driver(tmp_path, *_python(text)), check=True, capture_output=True, text=True)
    daemon = int(done.stdout)
    assert _state(daemon) == "S"
    os.kill(daemon, signal.SIGKILL)


def test_a_command_that_is_not_there_is_wrong_use(tmp_path):
    program = Program(argv=("no-such-program",), cwd=str(tmp_path))
    with pytest.raises(WrongUse) as caught:
        run_program(program, folder=tmp_path / "run", project_root=tmp_path, probe=None)
    assert caught.value.key == "launch.cannot_start"


def test_output_for_a_result_on_standard_output(tmp_path):
    driver = DRIVER.replace("probe=None", "probe=None, output='stderr'")
    argv = [sys.executable, "-c", driver, str(tmp_path), *_python("print('to the person')")]
    done = subprocess.run(argv, check=True, capture_output=True)
    assert (done.stdout, done.stderr) == (b"", b"to the person\n")


def test_a_time_limit_without_a_sandbox(tmp_path):
    program = Program(argv=_python("import time; time.sleep(1000)"), cwd=str(tmp_path))
    run = run_program(program, folder=tmp_path / "run", project_root=tmp_path, probe=None, timeout_s=0.3)
    assert (run.timed_out, run.exit_code) == (True, 137)


def test_what_was_watched(tmp_path):
    """CPU time of the program and of a child that ended, its memory, its times."""
    text = """
import subprocess, sys
block = b"x" * (100 << 20)
burn = "import time\\nwhile time.process_time() < 0.4: pass"
exec(burn)
subprocess.run([sys.executable, "-c", burn])
"""
    program = Program(argv=_python(text), cwd=str(tmp_path))
    before_ns = time.monotonic_ns()
    run = run_program(program, folder=tmp_path / "run", project_root=tmp_path, probe=None, output="capture")
    assert run.exit_code == 0
    assert before_ns <= run.started_ns < run.ended_ns <= time.monotonic_ns()
    assert 0.75e9 <= run.usage.samples[-1].cpu_ns <= run.usage.cpus * (run.ended_ns - run.started_ns) + 1e9
    assert 100 << 20 <= run.usage.peak_rss_bytes < 300 << 20
    assert not run.connected
