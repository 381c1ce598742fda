"""The probe runs in the user's interpreter, which may be older or newer than ours."""

import subprocess
from pathlib import Path

import pytest
from probed import plain_env, run_probed

import pitstop.probe

PROBE = Path(pitstop.probe.__file__).parent
OTHERS = {path.name: path / "bin" / "python" for path in sorted(Path("/root/.pyenv/versions").glob("3.*"))}
VERSIONS = ["3.9.18", "3.10.13", "3.12.1", "3.13.0"]


def interpreter(version):
    python = OTHERS.get(version)
    if python is None or not python.exists():
        pytest.skip(f"no CPython {version} on this machine")
    return str(python)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_file_compiles(version):
    code = "import sys\nfor path in sys.argv[1:]: compile(open(path, encoding='utf-8').read(), path, 'exec')"
    files = [str(path) for path in sorted(PROBE.rglob("*.py"))]
    assert len(files) > 20
    done = subprocess.run([interpreter(version), "-c", code, *files], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_probe_works_there(tmp_path, version):
    code = (
        "import argparse, os, sys\np = argparse.ArgumentParser()\np.add_argument('--n', type=int)\n"
        "print(p.parse_args(['--n', '3']).n)\n"
        "step = sys.modules['_pitstop_probe.api'].step\n"
        "for _ in range(4): step()\n"
        "if os.fork() == 0:\n    step()\n    os._exit(0)\nos.wait()"
    )
    done = run_probed(
        "-W", "error", "-c", code, folder=tmp_path / "probe", python=(interpreter(version),), env=plain_env()
    )
    assert (done.exit_code, done.stdout, done.stderr) == (0, "3\n", "")
    assert done.reading.faults == ()
    assert done.reading.end.steps == 4
    assert [(option.dest, option.value) for option in done.reading.evidence.options] == [("n", 3)]
    assert sorted(len(process.events) for process in done.reading.processes) == [1, 4]
