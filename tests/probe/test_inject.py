"""Injection: the probe is in every Python process of the program, and nothing of it shows."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from probed import plain_env, run, run_probed

import pitstop
from pitstop.records import EventKind

INJECT = Path(pitstop.__file__).parent / "probe" / "inject"
PROGRAM = """
import os, sys
print(sys.argv, __name__)
print("path", [entry for entry in sys.path if "pitstop" in entry and "inject" in entry])
print("sitecustomize", sys.modules.get("sitecustomize"))
print("threads", __import__("threading").active_count())
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "work" / "program.py"
    path.parent.mkdir()
    path.write_text(PROGRAM)
    return path


def both(arguments, tmp_path, **options):
    """Run without and with the probe; return (plain, probed)."""
    cwd = options.pop("cwd", tmp_path)
    plain = run([sys.executable, *map(str, arguments)], cwd=cwd, env=options.get("env"))
    return plain, run_probed(*arguments, folder=tmp_path / "probe", cwd=cwd, **options)


@pytest.mark.parametrize(
    "arguments", [["program.py", "-x", "1"], ["-m", "program", "a"], ["-c", PROGRAM, "b"], ["-B", "-u", "program.py"]]
)
def test_a_program_is_connected_and_prints_what_it_prints_without(program, tmp_path, arguments):
    plain, probed = both(arguments, tmp_path, cwd=program.parent)
    assert (probed.exit_code, probed.stdout, probed.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert plain.returncode == 0
    assert probed.reading.connected
    assert probed.reading.faults == ()


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_isolated_interpreters_stay_alone(program, tmp_path, option):
    program.write_text("import os, sys\nprint(sorted(sys.modules))\n")
    plain, probed = both([option, program], tmp_path)
    assert (probed.exit_code, probed.stdout, probed.stderr) == (0, plain.stdout, "")
    assert not probed.reading.connected


def test_a_shell_wrapper_and_python_children_are_followed(tmp_path):
    (tmp_path / "child.py").write_text("print('child')")
    (tmp_path / "parent.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'], check=True)\nprint('parent')"
    )
    script = f"echo begin; exec {sys.executable} parent.py"
    probed = run_probed("-c", script, python=("bash",), folder=tmp_path / "probe", cwd=tmp_path)
    assert probed.stdout == "begin\nchild\nparent\n"
    assert len(list((tmp_path / "probe").glob("*.sightings.jsonl"))) == 2


def test_the_users_own_sitecustomize_runs_and_is_the_one_in_sys_modules(tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import sys\nsys.mine = __file__\nimport companion\n")
    (own / "companion.py").write_text("word = 'found'")
    code = "import sys; print(sys.mine, sys.modules['sitecustomize'].__file__, sys.modules['companion'].word)"
    plain, probed = both(["-c", code], tmp_path, env=plain_env(PYTHONPATH=str(own)))
    assert str(own) in plain.stdout
    assert (probed.exit_code, probed.stdout, probed.stderr) == (0, plain.stdout, plain.stderr)
    assert probed.reading.connected


def test_a_failing_sitecustomize_fails_as_it_does_without(tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("raise ValueError('mine')")
    plain, probed = both(["-c", "print('on')"], tmp_path, env=plain_env(PYTHONPATH=str(own)))
    assert "ValueError: mine" in plain.stderr
    assert (probed.exit_code, probed.stdout, probed.stderr) == (0, "on\n", plain.stderr)


def test_an_empty_pythonpath_does_not_become_the_working_directory(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "program.py").write_text("import sys; print(sys.path)")
    plain, probed = both(["code/program.py"], tmp_path, env=plain_env(PYTHONPATH=""))
    assert probed.stdout == plain.stdout


@pytest.mark.parametrize(
    "code", ["1 / 0", "raise SystemExit(7)", "import sys; sys.exit('reason')", "import os; os._exit(9)", "assert False"]
)
def test_failure_keeps_its_traceback_and_exit_code(tmp_path, code):
    (tmp_path / "fails.py").write_text(code)
    plain, probed = both(["fails.py"], tmp_path)
    assert plain.returncode != 0
    assert (probed.exit_code, probed.stdout, probed.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_death_by_signal_is_death_by_signal(tmp_path):
    _plain, probed = both(["-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"], tmp_path)
    assert probed.exit_code == -signal.SIGTERM
    assert probed.reading.connected


def test_a_missing_probe_folder_changes_nothing(tmp_path):
    probed = run_probed("-c", "print('on')", folder=tmp_path / "probe")
    env = {**plain_env(), "PITSTOP_PROBE_DIR": str(tmp_path / "gone")}
    env["PYTHONPATH"] = str(INJECT)
    done = subprocess.run([sys.executable, "-c", "print('on')"], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, probed.stdout, "")


def test_a_broken_config_is_survived(tmp_path):
    folder = tmp_path / "probe"
    run_probed("-c", "0", folder=folder)
    (folder / "config.json").write_text("{")
    env = {**plain_env(), "PITSTOP_PROBE_DIR": str(folder)}
    env["PYTHONPATH"] = str(INJECT)
    done = subprocess.run([sys.executable, "-c", "print('on')"], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "on\n", "")


def test_pitstop_step_is_a_no_op_without_the_probe_and_counts_steps_with_it(tmp_path):
    code = "import pitstop\nfor _ in range(5): pitstop.step()\nprint('done')"
    plain, probed = both(["-c", code], tmp_path, stop_after_steps=3)
    assert plain.stdout == "done\n"
    assert probed.stdout == ""
    assert probed.exit_code == 0
    assert probed.reading.end is not None
    assert (probed.reading.end.reason, probed.reading.end.steps) == ("stopped", 3)


SAYS_STEPS = "import sys, pitstop\nfor _ in range(5):\n    print(pitstop.step())\nprint(sorted(pitstop.__all__))\n"


def test_pitstop_can_be_imported_under_the_probe_where_it_is_not_installed(tmp_path):
    (tmp_path / "program.py").write_text(SAYS_STEPS)
    bare = ["-S", "program.py"]  # no site-packages, so no sitecustomize either: it is run by hand
    assert "No module named 'pitstop'" in run([sys.executable, *bare], cwd=tmp_path).stderr
    code = f"import sys; sys.path.insert(0, {str(INJECT)!r})\ntry:\n    import sitecustomize\nexcept ImportError:\n    pass\n"
    (tmp_path / "program.py").write_text(code + SAYS_STEPS)
    done = run_probed(*bare, folder=tmp_path / "probe", cwd=tmp_path)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == "None\n" * 5 + "['step']\n"
    assert done.reading.end.steps == 5
    assert done.count(EventKind.STEP) == 5


def test_an_installed_pitstop_is_the_one_imported_and_only_step_is_provided(tmp_path):
    (tmp_path / "pitstop.py").write_text("step, __all__ = (lambda: 'own'), ['step']\n")
    (tmp_path / "program.py").write_text(SAYS_STEPS)
    done = run_probed("program.py", folder=tmp_path / "probe", cwd=tmp_path)
    assert done.stdout == "own\n" * 5 + "['step']\n"
    assert done.reading.faults == ()
