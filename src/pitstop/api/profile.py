"""`pitstop profile`: the user's own run, watched. Nothing in it is changed, sandboxed or stopped."""

import time
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from pitstop.api.analysis import analyse, profile_result
from pitstop.api.program import program_name, project_root, read_program
from pitstop.errors import WrongUse
from pitstop.measure.launch import run_program
from pitstop.measure.probe_folder import ProbeConfig
from pitstop.records.results import ProfileResult
from pitstop.report.html import profile_html
from pitstop.report.json import to_json
from pitstop.report.markdown import profile_markdown
from pitstop.store import new_run_folder

__all__ = ["ProfileRun", "profile_program"]

_SAMPLE_HZ = 50


class ProfileRun(NamedTuple):
    """What `profile_program` returns. `not_kept`: why the run folder lacks files (a full disk), None where it is whole."""

    result: ProfileResult
    exit_code: int
    not_kept: WrongUse | None


def profile_program(
    command: list[str], *, cwd: Path, run_root: Path | None = None, stdout_is_taken: bool = False
) -> ProfileRun:
    """Run `command` with the probe to its own end; the exit code is the program's (128 + signal).

    A run folder is kept below `run_root` (default `cwd`). `stdout_is_taken`: the program's output goes to standard error,
    because standard output is for the result. Raises WrongUse where the command cannot be started.
    """
    program = read_program(command, cwd=cwd)
    folder = new_run_folder(run_root or cwd, name=program_name(program), now=datetime.now().astimezone())
    root = project_root(program)
    began_ns = time.monotonic_ns()
    run = run_program(
        program,
        folder=folder.path,
        project_root=root,
        probe=ProbeConfig(mode="profile", sample_hz=_SAMPLE_HZ, project_root=str(root)),
        output="stderr" if stdout_is_taken else "inherit",
    )
    result = profile_result(analyse(run), run_folder=str(folder.path), wall_s=(time.monotonic_ns() - began_ns) / 1e9)
    not_kept = None
    try:
        folder.write("run.json", msgspec.json.encode(run))
        folder.write("profile.json", to_json(result))
        folder.write("report.html", profile_html(result))
        folder.write("report.md", profile_markdown(result))
    except WrongUse as error:  # hours may have gone into this run: what it showed is shown all the same
        not_kept = error
    return ProfileRun(result, run.exit_code, not_kept)
