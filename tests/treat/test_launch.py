import msgspec
import pytest

from pitstop.records import ArgparseOption, Change, Evidence, Program
from pitstop.treat import launch_line
from pitstop.treat.launch import flag_on_line, takes_options
from treat.golden import view_of

OPTION = ArgparseOption(dest="workers", flags=("-j", "--workers"), value=0, takes_value=True)


def evidence_of(*argv: str) -> Evidence:
    evidence = view_of("mnist_argparse").evidence
    environment = msgspec.structs.replace(evidence.environment, argv=("train.py", *argv))
    return msgspec.structs.replace(evidence, environment=environment)


@pytest.mark.parametrize(
    ("argv", "flag", "result"),
    [
        (("--workers", "0"), "--workers", ("--workers", "4")),
        (("--workers=0", "--lr", "1"), "--workers", ("--workers=4", "--lr", "1")),
        (("-j", "0"), "-j", ("-j", "4")),
        (("-j0",), "-j", ("-j4",)),
        (("--work", "0"), "--work", ("--work", "4")),
        (("-j", "1", "--workers", "0"), "--workers", ("-j", "1", "--workers", "4")),
    ],
)
def test_an_option_on_the_line_gets_its_new_value(argv, flag, result):
    assert flag_on_line(OPTION, evidence_of(*argv)) == flag
    program = Program(argv=("python", "train.py", *argv), cwd="/")
    line, _ = launch_line(program, Change(replaced_arguments={flag: "4"}))
    assert line == ("python", "train.py", *result)


@pytest.mark.parametrize("argv", [(), ("--lr", "0"), ("workers",), ("--", "x")])
def test_an_option_that_is_not_on_the_line_is_not_found(argv):
    assert flag_on_line(OPTION, evidence_of(*argv)) is None


def test_the_last_one_counts_as_in_argparse_and_interpreter_options_stay():
    program = Program(argv=("python", "-m", "pkg", "-m", "1"), cwd="/")
    assert launch_line(program, Change(replaced_arguments={"-m": "2"}))[0] == ("python", "-m", "pkg", "-m", "2")


def test_additions_go_to_the_end_and_environment_is_joined():
    program = Program(argv=("python", "a.py"), cwd="/", env={"A": "1", "OMP_NUM_THREADS": "8"})
    change = Change(arguments=("--workers", "2"), env={"OMP_NUM_THREADS": "2"})
    assert launch_line(program, change) == (("python", "a.py", "--workers", "2"), {"A": "1", "OMP_NUM_THREADS": "2"})


@pytest.mark.parametrize(
    ("argv", "reaches"),
    [
        (("python", "train.py", "--lr", "1"), True),
        (("torchrun", "--nproc-per-node", "2", "train.py", "--lr", "1"), True),
        (("bash", "run.sh"), False),
        (("bash", "run.sh", "--fast", "1"), False),
    ],
)
def test_options_reach_a_program_whose_arguments_end_the_line(argv, reaches):
    assert takes_options(Program(argv=argv, cwd="/"), evidence_of("--lr", "1")) is reaches
