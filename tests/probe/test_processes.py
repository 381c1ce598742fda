"""Which interpreters are programs."""

import sys

import pytest

from pitstop.probe.processes import command_line, is_forkserver, is_program, what_runs


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["python", "train.py", "-m", "x"], ("file", "train.py")),
        (["python", "-u", "-W", "ignore", "-X", "dev", "train.py"], ("file", "train.py")),
        (["python", "-m", "torch.distributed.run", "x.py"], ("module", "torch.distributed.run")),
        (["python", "-mpip", "install"], ("module", "pip")),
        (["python", "-Bc", "print(1)"], ("code", "print(1)")),
        (["python", "-cimport os"], ("code", "import os")),
        (["python", "-"], ("stdin", "")),
        (["python"], ("stdin", "")),
        (["python", "--check-hash-based-pycs", "never", "-m", "a"], ("module", "a")),
    ],
)
def test_what_an_interpreter_runs_is_read_off_its_arguments(arguments, expected):
    assert what_runs(arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "program"),
    [
        (["python", "train.py"], True),
        (["python", "-c", "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5)"], True),
        (["python", "-s", "-c", "from multiprocessing.resource_tracker import main;main(3)"], False),
        (["python", "-m", "pip", "install", "x"], False),
        (["python", "-m", "pipeline"], True),
        (["python", "/venv/bin/pip", "list"], False),
        (["python", "/x/site-packages/torch/_inductor/compile_worker/__main__.py", "--parent=1"], False),
    ],
)
def test_trackers_installers_and_compile_workers_are_no_programs(arguments, program):
    assert is_program(arguments) is program


def test_a_fork_server_is_watched_without_being_a_program_itself():
    assert is_forkserver(["python", "-c", "from multiprocessing.forkserver import main; main(1, 2, [], **{})"])
    assert not is_forkserver(["python", "-c", "print('from multiprocessing.forkserver import')"])


def test_the_command_line_of_this_process_is_its_own():
    assert command_line()[0]
    assert command_line()[-1] == sys.orig_argv[-1]
