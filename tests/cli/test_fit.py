"""`pitstop fit` end to end: a program that dies under `ulimit -v` comes out with an edit that runs under it to the end."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.torch]

EXAMPLE = Path(__file__).parents[2] / "examples" / "fit" / "train.py"
LIMIT_KIB = 2_000_000
COMMAND = [sys.executable, "train.py", "--epochs", "1"]


def limited(command, folder):
    words = ["sh", "-c", f'ulimit -v {LIMIT_KIB}; exec "$@"', "sh", *command]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=900, check=False)


def test_a_program_that_runs_out_of_memory_gets_an_edit_that_runs_to_the_end(tmp_path):
    pytest.importorskip("skimage")
    shutil.copy(EXAMPLE, tmp_path / "train.py")
    assert "allocate memory" in limited(COMMAND, tmp_path).stderr
    before = (tmp_path / "train.py").read_bytes()
    fitted = limited(
        [sys.executable, "-m", "pitstop", "fit", "--budget", "5m", "--json", "out.json", "--", *COMMAND], tmp_path
    )
    assert fitted.returncode == 0, fitted.stderr
    assert (tmp_path / "train.py").read_bytes() == before
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["program"]["out_of_memory"]
    assert result["batch"] < result["own_batch"] == result["batch"] * result["accumulate"] == 256
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "apply", result["patch"]], cwd=tmp_path, check=True)
    patched = limited(result["command"], tmp_path)
    assert patched.returncode == 0, patched.stderr
    assert "epoch 0: loss" in patched.stdout
