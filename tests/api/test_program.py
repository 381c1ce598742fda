"""A command line that cannot be right is said before anything starts."""

import sys
from pathlib import Path

import pytest

from pitstop.api.program import main_script, program_name, project_root, read_program
from pitstop.errors import WrongUse
from pitstop.messages import LANGUAGES, say


@pytest.fixture
def project(tmp_path):
    (tmp_path / "train.py").write_text("print('hello')\n")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    (tmp_path / "package").mkdir()
    (tmp_path / "plain.txt").write_text("not executable")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ([], "cli.no_command"),
        (["no-such-command-anywhere"], "cli.no_such_command"),
        (["missing.py"], "cli.no_such_script"),
        (["train.py"], "cli.needs_interpreter"),
        (["plain.txt"], "cli.not_executable"),
        (["package"], "cli.is_a_folder"),
        ([sys.executable, "missing.py"], "cli.no_such_script"),
        ([sys.executable, "-u", "-X", "dev", "missing.py", "--lr", "1"], "cli.no_such_script"),
        ([sys.executable, "package"], "cli.is_a_folder"),
        ([sys.executable, "photo.png"], "cli.not_python"),
        (["study.ipynb"], "cli.is_a_notebook"),
        ([sys.executable, "study.ipynb"], "cli.is_a_notebook"),
        (["jupyter", "lab"], "cli.is_a_notebook"),
        (["jupyter-nbconvert", "--execute", "study.ipynb"], "cli.is_a_notebook"),
        ([sys.executable, "-m", "jupyter", "execute", "study.ipynb"], "cli.is_a_notebook"),
        (["/opt/bin/papermill", "study.ipynb", "out.ipynb"], "cli.is_a_notebook"),
        (["ipython", "-c", "%run study.ipynb"], "cli.is_a_notebook"),
    ],
)
def test_wrong_use_has_one_clear_message_in_each_language(project, command, key):
    with pytest.raises(WrongUse) as raised:
        read_program(command, cwd=project)
    assert raised.value.key == key
    assert raised.value.exit_code == 2
    for lang in LANGUAGES:
        assert say(key, lang=lang, **raised.value.values)


@pytest.mark.parametrize(
    ("arguments", "script"),
    [
        (["train.py", "--lr", "1"], "train.py"),
        (["-u", "-W", "ignore", "train.py"], "train.py"),
        (["-m", "package.train"], None),
        (["-c", "print(1)"], None),
        (["-mpackage"], None),
    ],
)
def test_the_script_is_found_among_the_interpreters_options(project, arguments, script):
    found = main_script([sys.executable, *arguments], cwd=project)
    assert found == (None if script is None else project / script)


def test_a_good_command_is_a_program(project):
    program = read_program([sys.executable, "train.py", "--lr", "1e-3"], cwd=project)
    assert program.argv == (sys.executable, "train.py", "--lr", "1e-3")
    assert program_name(program) == "train"
    assert project_root(program) == project


def test_a_script_elsewhere_brings_its_own_project(project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    program = read_program([sys.executable, str(project / "train.py")], cwd=elsewhere)
    assert project_root(program) == project
    assert program_name(read_program([sys.executable, "-m", "json.tool"], cwd=elsewhere)) == "json.tool"
    assert Path(program.cwd) == elsewhere


def test_a_notebook_given_as_data_is_no_notebook_to_run(project):
    assert read_program([sys.executable, "train.py", "study.ipynb"], cwd=project).argv[-1] == "study.ipynb"
