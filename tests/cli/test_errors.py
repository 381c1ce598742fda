"""Wrong use and bad input: one clear line in the user's language, the right exit code, never a traceback of ours."""

import sys
from pathlib import Path

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
        (["--", "no-such-command-anywhere"], "no command 'no-such-command-anywhere'"),
        (["--", PYTHON, "missing.py"], "no file"),
        (["--", "train.py"], "without its interpreter"),
        (["--", PYTHON, "image.png"], "not a Python source file"),
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


def test_an_unknown_option_or_language_is_wrong_use(pitstop):
    assert pitstop("tune", "--no-such-option").returncode == 2
    assert pitstop("tune", "--budget", "soon", "--", PYTHON, "-c", "pass").returncode == 2
    assert pitstop("tune", "--only", "magic", "--", PYTHON, "-c", "pass").returncode == 2


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
        ("print('nothing to do with training')", 4, "does not use PyTorch"),
    ],
)
def test_a_program_that_cannot_be_tuned_ends_with_one_line_after_its_own(pitstop, tmp_path, source, code, words):
    (tmp_path / "train.py").write_text(source)
    done = pitstop("tune", "--", PYTHON, "train.py")
    assert done.returncode == code
    assert last_line(done.stderr).startswith("pitstop: ")
    assert words in done.stderr


@pytest.mark.torch
@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("import torch; print(torch.ones(3).sum())", 4, "no training step was seen"),
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


def test_a_json_file_that_cannot_be_written_is_said(pitstop, tmp_path):
    (tmp_path / "train.py").write_text("pass\n")
    done = pitstop("profile", "--json", str(Path("no") / "such" / "folder.json"), "--", PYTHON, "train.py")
    assert done.returncode == 2
    assert "cannot write" in last_line(done.stderr)
