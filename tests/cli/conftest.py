"""Runs the real `pitstop` command on small real programs."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Pitstop = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def pitstop(tmp_path: Path) -> Pitstop:
    """Start `pitstop` in a folder of its own, in English unless told otherwise."""

    def run(*arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None, timeout_s: float = 120):
        return subprocess.run(
            [sys.executable, "-m", "pitstop", *arguments],
            cwd=cwd or tmp_path,
            env={**os.environ, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    return run
