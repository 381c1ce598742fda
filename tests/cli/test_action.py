"""The GitHub Action: its structure, and its own lines run by bash as a runner does."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
IDENTITY = ("-c", "user.name=ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false")
EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")

# Stands for a real environment of the action's own, without a download: its python has nothing that the program needs.
PYTHON = """#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
  mkdir -p "$3/bin"
  printf '#!/bin/sh\\necho "$@" >> "%s/pip.log"\\n' "$3" > "$3/bin/pip"
  cp "$STUB_PITSTOP" "$3/bin/pitstop"
  printf '#!/bin/sh\\n[ "$1" = -c ] && exec {python} "$@"\\necho "the wrong python" >&2; exit 7\\n' > "$3/bin/python"
  chmod +x "$3"/bin/*
else
  exec {python} "$@"
fi
"""
RECORDING = """#!/bin/sh
printf '%s\\n' "$@" > "$RUNNER_TEMP/arguments"
exit "${STUB_CODE:-0}"
"""
REAL = """#!/bin/sh
exec {python} -m pitstop "$@"
"""
PROGRAM = """
import sys
import time

import torch

assert sys.argv[1] == "two words", sys.argv
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100_000):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
    time.sleep(DELAY)
"""


@pytest.fixture
def action() -> dict:
    return yaml.safe_load((ROOT / "action.yml").read_text())


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *IDENTITY, *arguments], check=True, capture_output=True)


class Runner:
    """What of a GitHub runner the action can see: files to write to, inputs as variables, its steps one after another."""

    def __init__(self, folder: Path, *, pitstop: str) -> None:
        self.temp = folder / "runner"
        self.stubs = folder / "stubs"
        self.temp.mkdir()
        self.stubs.mkdir()
        self._stub("python", PYTHON)
        self._stub("own-pitstop", pitstop)
        self.summary, self.output, self.path = (self.temp / name for name in ("summary.md", "output", "path"))
        for file in (self.summary, self.output, self.path):
            file.touch()

    def _stub(self, name: str, text: str) -> None:
        (self.stubs / name).write_text(text.replace("{python}", sys.executable))
        (self.stubs / name).chmod(0o755)

    def run(self, action: dict, *, cwd: Path, env: dict[str, str] | None = None, **inputs: str):
        values = {f"inputs.{name}": str(one.get("default", "")) for name, one in action["inputs"].items()}
        values |= {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
        values["github.action_path"] = str(ROOT)
        for step in action["runs"]["steps"]:
            added = self.path.read_text().split()
            given = {name: EXPRESSION.sub(lambda m: values[m[1]], str(text)) for name, text in step["env"].items()}
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
                cwd=cwd,
                env={
                    **os.environ,
                    "PATH": ":".join([*reversed(added), str(self.stubs), os.environ["PATH"]]),
                    "STUB_PITSTOP": str(self.stubs / "own-pitstop"),
                    "RUNNER_TEMP": str(self.temp),
                    "GITHUB_STEP_SUMMARY": str(self.summary),
                    "GITHUB_OUTPUT": str(self.output),
                    "GITHUB_PATH": str(self.path),
                    **(env or {}),
                    **given,
                },
                capture_output=True,
                text=True,
                timeout=170,
                check=False,
            )
            if done.returncode:
                break
        return done

    @property
    def arguments(self) -> list[str]:
        return (self.temp / "arguments").read_text().splitlines()


def test_its_structure_is_that_of_a_composite_action(action):
    assert action["runs"]["using"] == "composite"
    assert all(one["description"] for one in (*action["inputs"].values(), *action["outputs"].values()))
    identifiers = {step.get("id") for step in action["runs"]["steps"]}
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash", "composite steps have no default shell"
        assert "${{" not in step["run"], "inputs are never pasted into a script"
    for output in action["outputs"].values():
        (place,) = EXPRESSION.findall(output["value"])
        assert place.split(".")[1] in identifiers
    known = {f"inputs.{name}" for name in action["inputs"]} | {"github.action_path"}
    used = {
        name for step in action["runs"]["steps"] for text in step["env"].values() for name in EXPRESSION.findall(text)
    }
    assert used <= known
    assert known <= used | {"inputs.working-directory"}


@pytest.mark.parametrize("page", ["gate.md", "gate.zh.md"])
def test_the_example_workflow_gives_inputs_that_there_are(action, page):
    text = (ROOT / "docs" / "how-to" / page).read_text()
    workflow = yaml.safe_load(text.split("```yaml\n")[1].split("```")[0])
    steps = workflow["jobs"]["speed"]["steps"]
    gate = next(step for step in steps if "command" in step.get("with", {}))
    assert set(gate["with"]) <= set(action["inputs"])
    assert next(step for step in steps if "checkout" in step.get("uses", ""))["with"]["fetch-depth"] == 0


def test_words_and_options_arrive_as_they_were_meant(action, tmp_path):
    runner = Runner(tmp_path, pitstop=RECORDING)
    done = runner.run(
        action,
        cwd=tmp_path,
        env={"GITHUB_BASE_REF": "main"},
        command="python train.py --name 'two words'\n  --rate 0.1 $(touch hacked)",
        options="--strict --head 'a b'",
    )
    assert done.returncode == 0, done.stderr
    given = runner.arguments
    assert given[given.index("--") + 1 :] == [
        *("python", "train.py", "--name", "two words", "--rate", "0.1", "$(touch", "hacked)")
    ]
    assert given[: given.index("--")][-3:] == ["--strict", "--head", "a b"]
    assert given[:3] == ["gate", "--base", "origin/main"]
    assert not (tmp_path / "hacked").exists()
    assert (runner.temp / "pitstop" / "pip.log").read_text().split()[-1] == str(ROOT)


@pytest.mark.parametrize("code", ["1", "4"])
def test_the_exit_code_is_the_step_s_and_an_output(action, tmp_path, code):
    runner = Runner(tmp_path, pitstop=RECORDING)
    done = runner.run(action, cwd=tmp_path, env={"STUB_CODE": code}, command="python train.py", base="v1")
    assert done.returncode == int(code)
    assert f"exit-code={code}" in runner.output.read_text().splitlines()
    assert runner.arguments[:3] == ["gate", "--base", "v1"]


@pytest.mark.slow
def test_a_slower_head_fails_the_step_with_the_report_in_the_summary(action, tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "train.py").write_text(PROGRAM.replace("DELAY", "0.02"))
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Train")
    git(root, "switch", "-q", "-c", "work")
    (root / "train.py").write_text(PROGRAM.replace("DELAY", "0.04"))
    git(root, "commit", "-qam", "Slower")
    runner = Runner(tmp_path, pitstop=REAL)
    done = runner.run(
        action, cwd=root, command="python train.py 'two words'", base="main", budget="90s", options="--tolerate-load"
    )
    assert done.returncode == 1, done.stderr
    assert "Failed" in runner.summary.read_text()
    assert '"verdict": "slower"' in (runner.temp / "pitstop-gate.json").read_text().replace('":"', '": "')
