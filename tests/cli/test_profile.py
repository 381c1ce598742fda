"""`pitstop profile`: the program prints, returns and exits as it would; the report goes to standard error."""

import json
import re
import subprocess
import sys

import pytest
from training_program import training

PYTHON = sys.executable


@pytest.mark.torch
def test_output_and_exit_code_are_the_programs_own(pitstop, tmp_path):
    (tmp_path / "train.py").write_text(training(steps=60) + "import sys; sys.exit(7)\n")
    done = pitstop("profile", "--json", "out.json", "--html", "out.html", "--", PYTHON, "train.py")
    assert done.returncode == 7
    assert done.stdout == "trained\n"
    result = json.loads((tmp_path / "out.json").read_bytes())
    assert result["program"]["exit_code"] == 7
    assert result["steps"]["count"] == 60
    assert sum(result["ledger"].values()) == pytest.approx(1.0)
    assert (tmp_path / "out.html").read_text().startswith("<!")


@pytest.mark.torch
def test_json_on_standard_output_moves_the_programs_output_to_standard_error(pitstop, tmp_path):
    (tmp_path / "train.py").write_text(training(steps=40))
    done = pitstop("profile", "--json", "-", "--", PYTHON, "train.py")
    assert json.loads(done.stdout)["steps"]["count"] == 40
    assert "trained" in done.stderr


def test_a_program_without_torch_is_run_and_reported_without_steps(pitstop, tmp_path):
    (tmp_path / "job.py").write_text("print('did it')\n")
    done = pitstop("profile", "--", PYTHON, "job.py")
    assert done.returncode == 0
    assert done.stdout == "did it\n"
    assert "PyTorch" in done.stderr


def test_a_signal_is_128_plus_its_number(pitstop, tmp_path):
    (tmp_path / "job.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGTERM)\n")
    assert pitstop("profile", "--", PYTHON, "job.py").returncode == 128 + 15


@pytest.mark.torch
@pytest.mark.parametrize(
    ("ending", "code", "words"),
    [
        ("raise ValueError('no such label')", 1, "ValueError: no such label"),
        ("raise torch.OutOfMemoryError('CUDA out of memory.')", 1, "pitstop fit"),
        ("bytearray(1 << 60)", 1, "pitstop fit"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, "when memory runs out"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143, "SIGTERM"),
        ("import sys; sys.exit(7)", 7, "exit code 7"),
        ("raise ValueError('\\udcff first')", 1, "ValueError: \\udcff first"),
        ("class E(Exception):\n    __str__ = lambda self: 1 / 0\nraise E", 1, "(exit code 1): E."),
    ],
)
def test_a_failing_program_is_said_to_have_failed_and_what_it_did_before_is_shown(
    pitstop, tmp_path, ending, code, words
):
    (tmp_path / "train.py").write_text(training(steps=12) + ending + "\n")
    done = pitstop("profile", "--json", "out.json", "--html", "out.html", "--", PYTHON, "train.py")
    assert done.returncode == code
    report = done.stderr[done.stderr.index("%") :]
    assert words in " ".join(report.split())
    assert words in (tmp_path / "out.html").read_text()
    result = json.loads((tmp_path / "out.json").read_bytes())
    assert result["program"]["out_of_memory"] == (words == "pitstop fit")
    assert ("out-of-memory" in {one["fault"] for one in result["findings"]}) == (words == "pitstop fit")
    assert result["ledger"]


@pytest.mark.torch
def test_too_few_steps_are_said_to_be_too_few(pitstop, tmp_path):
    (tmp_path / "train.py").write_text(training(steps=4))
    done = pitstop("profile", "--", PYTHON, "train.py")
    assert done.returncode == 0
    assert "made 4 step(s)" in done.stderr


def test_a_command_without_anything_to_measure_has_no_empty_section(pitstop):
    done = pitstop("profile", "--", "true")
    assert done.returncode == 0
    assert not re.search(r"The run\n\s*\n", done.stderr), (
        "a look at its memory may have come in time; then that stands there"
    )


@pytest.mark.torch
def test_a_stored_run_is_reported_again(pitstop, tmp_path):
    (tmp_path / "train.py").write_text(training(steps=40))
    pitstop("profile", "--", PYTHON, "train.py")
    again = pitstop("report", "--json", "-", "--markdown", "again.md", "--lang", "zh")
    assert again.returncode == 0
    assert json.loads(again.stdout)["steps"]["count"] == 40
    assert (tmp_path / "again.md").read_text().strip()


def test_the_version_is_told_without_a_command(pitstop):
    from pitstop import __version__

    done = pitstop("--version")
    assert (done.returncode, done.stdout) == (0, f"pitstop {__version__}\n")


def test_help_is_one_screen_and_imports_no_framework():
    code = (
        "import sys; from pitstop.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'scipy', 'polars', 'libcst', 'plotly', 'jinja2'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) <= 40
