"""Wrong use and bad input: one clear line in the user's language, the right exit code, never a traceback of ours."""

import json
import sys

import pytest
from training_program import training

PYTHON = sys.executable


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1]


@pytest.mark.parametrize("command", ["profile", "tune"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no command to run"),
        (["--lang", "fr", "--", PYTHON, "train.py"], "no language 'fr'"),
        (["--json", "no/such/folder.json", "--", PYTHON, "train.py"], "cannot write"),
        (["--json", "/", "--", PYTHON, "train.py"], "cannot write"),
        (["--", "no-such-command-anywhere"], "no command 'no-such-command-anywhere'"),
        (["--", PYTHON, "missing.py"], "no file"),
        (["--", "train.py"], "without its interpreter"),
        (["--", PYTHON, "image.png"], "not a Python source file"),
        (["--", "jupyter", "nbconvert", "--execute", "my study.ipynb"], "nbconvert --to script 'my study.ipynb'"),
        (["--", PYTHON, "study.ipynb"], "python study.py"),
    ],
)
def test_wrong_use_exits_2_with_one_line(pitstop, tmp_path, command, arguments, words):
    (tmp_path / "train.py").write_text("pass\n")
    (tmp_path / "image.png").write_bytes(b"\x89PNG\0\0")
    done = pitstop(command, *arguments)
    assert done.returncode == 2
    assert words in last_line(done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
    assert not (tmp_path / ".pitstop").exists(), "nothing is written for a command that cannot be run"


def test_errors_are_said_in_chinese_too(pitstop):
    done = pitstop("profile", "--lang", "zh", "--", PYTHON, "missing.py")
    assert done.returncode == 2
    assert "没有文件" in done.stderr
    done = pitstop("tune", "--lang", "zh", "--", PYTHON, "-m", "papermill", "study.ipynb", "out.ipynb")
    assert done.returncode == 2
    assert "pitstop tune -- python study.py" in done.stderr


def test_an_unknown_option_or_language_is_wrong_use(pitstop):
    assert pitstop("tune", "--no-such-option").returncode == 2
    assert pitstop("tune", "--budget", "soon", "--", PYTHON, "-c", "pass").returncode == 2
    assert pitstop("tune", "--budget", "10", "--", PYTHON, "-c", "pass").returncode == 2, "ten what?"
    assert pitstop("tune", "--job-steps", "9" * 30, "--", PYTHON, "-c", "pass").returncode == 2
    no_option = pitstop("tune", "--confirm", "--seed-option", "seed", "--", PYTHON, "-c", "pass")
    assert no_option.returncode == 2
    assert "--seed" in last_line(no_option.stderr)
    assert pitstop("tune", "--only", "magic", "--", PYTHON, "-c", "pass").returncode == 2
    nothing_left = pitstop("tune", "--only", "compile", "--skip", "compile", "--", PYTHON, "-c", "pass")
    assert nothing_left.returncode == 2
    assert "leave nothing to try" in last_line(nothing_left.stderr)


@pytest.mark.parametrize("command", ["profile", "tune"])
def test_a_command_without_a_program_names_itself(pitstop, command):
    assert f"pitstop {command} -- python train.py" in pitstop(command).stderr


def test_a_folder_that_cannot_be_written_is_said(pitstop, tmp_path):
    (tmp_path / "train.py").write_text("pass\n")
    (tmp_path / "in-the-way").write_text("a file where the folder should be")
    done = pitstop("profile", "--run-root", str(tmp_path / "in-the-way"), "--", PYTHON, "train.py")
    assert done.returncode == 2
    assert "cannot make the run folder" in last_line(done.stderr)


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("print('started'); raise RuntimeError('no data here')", 3, "no data here"),
        ("import sys; sys.exit('usage: train.py --data DIR')", 3, "usage: train.py --data DIR"),
        ("raise SystemExit(5)", 3, "wrote nothing to standard error"),
        ("print('nothing to do with training')", 4, "does not use PyTorch"),
    ],
)
def test_a_program_that_cannot_be_tuned_ends_with_one_line_after_its_own(pitstop, tmp_path, source, code, words):
    (tmp_path / "train.py").write_text(source)
    done = pitstop("tune", "--json", "out.json", "--", PYTHON, "train.py")
    assert done.returncode == code
    assert last_line(done.stderr).startswith("pitstop: ")
    assert words in done.stderr
    told = json.loads((tmp_path / "out.json").read_bytes())
    assert told["exit_code"] == code, "whoever reads only the file finds the end there"
    assert told["message"] in last_line(done.stderr)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("import torch; print(torch.ones(3).sum())", 4, "no step was seen"),
        (training(steps=3), 4, "ended after 3 steps"),
        (training(scale=" * float('nan')"), 4, "not finite"),
        (
            "import torch\nimport resource\nresource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
            "kept = torch.empty(4 << 30)\n",
            3,
            "ran out of memory by itself",
        ),
    ],
)
def test_a_torch_program_that_cannot_be_tuned_says_why(pitstop, tmp_path, source, code, words):
    (tmp_path / "train.py").write_text(source)
    done = pitstop("tune", "--", PYTHON, "train.py")
    assert done.returncode == code, done.stderr
    assert words in last_line(done.stderr)


@pytest.mark.torch
def test_an_interpreter_that_cannot_be_observed_is_said(pitstop, tmp_path):
    (tmp_path / "train.py").write_text(training())
    done = pitstop("tune", "--", PYTHON, "-I", "train.py")
    assert done.returncode == 4
    assert "probe was not connected" in last_line(done.stderr)


def test_resuming_nothing_is_wrong_use(pitstop, tmp_path):
    (tmp_path / "train.py").write_text("pass\n")
    done = pitstop("tune", "--resume", "--", PYTHON, "train.py")
    assert done.returncode == 2
    assert "no unfinished tune" in last_line(done.stderr)


def test_a_run_that_cannot_be_kept_is_shown_all_the_same(pitstop, tmp_path):
    """The program's folder of runs is gone when it ends: no file can be written, as on a full disk."""
    (tmp_path / "train.py").write_text("import shutil, sys; shutil.rmtree('.pitstop'); sys.exit(7)\n")
    done = pitstop("profile", "--", PYTHON, "train.py")
    assert done.returncode == 7, done.stderr
    assert "exit code 7" in done.stderr
    assert "cannot write" in last_line(done.stderr)
