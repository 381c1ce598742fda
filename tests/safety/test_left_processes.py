"""However a trial's processes behave, the run ends, says how, and leaves nothing running."""

import os
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("raise SystemExit(3)", 3),
        ("raise RuntimeError('broken')", 1),
        ("import os; os._exit(0)", 0),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137),
    ],
)
def test_the_exit_code_is_the_programs_own(trials_in, text, code):
    run = trials_in("overlay").run(text)
    assert (run.exit_code, run.ended_by, run.timed_out, run.over_memory) == (code, "program", False, False)


def test_a_crash_is_a_result(trials):
    run = trials.run("import sys; print('before'); sys.stderr.write('why\\n'); sys.exit(7)")
    assert (run.exit_code, trials.stdout, trials.stderr) == (7, "before\n", "why\n")


STUBBORN = """
import os, signal, subprocess, sys, time
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
# A daemon: two forks, its own session, no streams, another name, no environment.
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for descriptor in range(3): os.close(descriptor)
        os.execve("/bin/sleep", ["kworker", "1000"], {})
    os._exit(0)
# A process that goes on forking, and children of children.
for _ in range(3):
    if os.fork() == 0:
        os.setpgid(0, 0)
        if os.fork() == 0:
            while True: time.sleep(1000)
        os._exit(0)
subprocess.Popen(["sleep", "1000"], start_new_session=True)
print("all up", flush=True)
"""


def test_a_program_that_ends_takes_everything_it_started_with_it(trials):
    run = trials.run(STUBBORN)
    assert (run.exit_code, trials.stdout) == (0, "all up\n")
    assert not _sleepers(trials)


def test_a_hang_is_ended_at_the_time_limit_with_everything_below(trials):
    """Signals ignored, every exception caught: the limit ends it all the same."""
    text = STUBBORN + "while True:\n    try: time.sleep(1000)\n    except BaseException: pass\n"
    run = trials.run(text, timeout_s=1.0)
    assert (run.timed_out, run.ended_by, run.exit_code) == (True, "timeout", 137)
    assert trials.stdout == "all up\n"
    assert not _sleepers(trials)


def _sleepers(trials) -> list[str]:
    """The daemon has no environment to be found by; its name and its age tell it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cmdline").read_bytes() == b"kworker\x001000\x00":
                    found.append(entry.name)
            except OSError:
                continue
    return found


def test_a_program_cannot_end_or_signal_what_is_outside(trials):
    """Every process that it can name gets SIGKILL: the launcher's and the test's own must live, so a result arrives."""
    text = f"""
import os, signal
for pid in [{os.getpid()}, os.getppid(), -1]:
    if pid == 1: continue
    try: os.kill(pid, 0 if pid == -1 else signal.SIGUSR1)
    except OSError as error: print(type(error).__name__)
"""
    run = trials.run(text)
    assert run.exit_code == 0, trials.stderr
    assert trials.stdout


def test_reading_standard_input_finds_its_end_at_once(trials):
    run = trials.run("import sys; print(repr(sys.stdin.read()))\ntry: input()\nexcept EOFError: print('end')")
    assert (run.exit_code, trials.stdout) == (0, "''\nend\n")


def test_output_is_kept_in_bounds(trials_in):
    """A program that prints without end fills no disk: the beginning and the end are kept."""
    trials = trials_in("overlay")
    run = trials.run("print('first')\nfor _ in range(600): print('x' * 50_000)\nprint('last')")
    assert run.exit_code == 0
    assert (trials.folder / "stdout").stat().st_size < 6 << 20
    assert trials.stdout.startswith("first\n")
    assert trials.stdout.endswith("last\n")
    assert "bytes left out" in trials.stdout


def test_a_command_that_cannot_be_started_is_wrong_use(trials):
    from pitstop.errors import WrongUse

    with pytest.raises(WrongUse, match="cannot_start"):
        trials.run("", argv=("/no/such/program",))


def test_an_interrupted_pitstop_ends_the_trial(trials):
    """What `on_tick` raises (Ctrl-C, a spent budget) passes through, after the trial's processes are gone."""

    class Enough(Exception):
        pass

    def tick() -> None:
        raise Enough

    with pytest.raises(Enough):
        trials.run(STUBBORN + "time.sleep(1000)", on_tick=tick)
    assert not trials.left_over()


def test_children_and_their_time_are_counted(trials):
    """Four children that burn and end: their CPU time and number are in what was watched."""
    text = """
import multiprocessing as mp, time
def burn():
    end = time.process_time() + 0.3
    while time.process_time() < end: pass
context = mp.get_context("fork")
children = [context.Process(target=burn) for _ in range(4)]
for child in children: child.start()
for child in children: child.join()
"""
    run = trials.run(text)
    assert run.exit_code == 0, trials.stderr
    assert run.usage.samples[-1].cpu_ns >= 1_200_000_000
    assert max(sample.processes for sample in run.usage.samples) >= 3


def test_a_program_may_be_a_shell_script_with_children(trials):
    run = trials.run("", argv=("sh", "-c", f"{sys.executable} -c 'print(1)' && exec {sys.executable} -c 'print(2)'"))
    assert (run.exit_code, trials.stdout) == (0, "1\n2\n")
