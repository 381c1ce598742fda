"""The cases: programs as people write them, what was seen of them, and what pitstop makes of them.

`cases/<name>/` holds the program (`before.py` and its modules), `arguments.txt` (its command line, if any),
`evidence.json` (recorded by `record.py` from a real run; where there is a `frameworks.txt` by the probe itself, in the interpreter of
`make loops-env`) and `expected.txt`. With `machine.json` the case is shown on another machine than that of the recording: fields of every
forward and of the environment that are said otherwise. After a change of either, refresh with

    .venv/bin/python -m treat.golden [--record] [NAME...]        (in tests/; --record runs the programs again, with torch)
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import msgspec

from pitstop.measure.probe_folder import ProbeConfig, prepare_probe, read_probe
from pitstop.measure.sandbox.project_copy import moved_back
from pitstop.records import CATEGORIES, ArgparseOption, CannotApply, Change, Evidence, Ledger, Program, Proposal, Steps
from pitstop.treat import View, build_change, decode_source, propose_all, unified_diff

CASES = Path(__file__).parent / "cases"
NAMES = sorted(path.parent.name for path in CASES.glob("*/before.py"))
ROOT = "/case"
FRAMEWORKS = Path(__file__).parents[2] / ".venvs" / "loops" / "bin" / "python"
_SHARES = {"data_wait": 40, "forward": 20, "backward": 20, "optimizer": 10, "evaluation": 5, "unknown": 5}
LEDGER = Ledger(wall_ns=100, steps=10, categories_ns={category: _SHARES.get(category, 0) for category in CATEGORIES})


@cache
def view_of(name: str) -> View:
    """The view that treatments get of a case, on two processors."""
    evidence = msgspec.json.decode((CASES / name / "evidence.json").read_bytes(), type=Evidence)
    evidence = _on_machine(evidence, CASES / name / "machine.json")
    texts = {f"{ROOT}/{path.name}": decode_source(path.read_bytes()) for path in sorted((CASES / name).glob("*.py"))}
    assert evidence.environment is not None
    return View(
        evidence=evidence,
        ledger=LEDGER,
        steps=Steps(clock="optimizer", start_ns=0, ends_ns=(1,), samples=(1,)),
        cpus=2,
        sources={path: text for path, text in texts.items() if text is not None},
        program=Program(argv=("python", *evidence.environment.argv), cwd=ROOT),
    )


def _on_machine(evidence: Evidence, path: Path) -> Evidence:
    if not path.exists():
        return evidence
    machine = msgspec.json.decode(path.read_bytes())
    plain = msgspec.to_builtins(evidence)
    plain["environment"] |= machine["environment"]
    plain["forwards"] = [{**forward, **machine["forwards"]} for forward in plain["forwards"]]
    return msgspec.convert(plain, type=Evidence)


@cache
def answers_of(name: str) -> tuple[tuple[Proposal, ...], tuple[CannotApply, ...]]:
    """What all treatments propose for a case, and what they refuse; the same for every test, so asked once."""
    return propose_all(view_of(name))


def one_of_each_group(proposals: tuple[Proposal, ...]) -> list[Proposal]:
    """The last proposal of each group: what can be tried together."""
    return list({proposal.group: proposal for proposal in proposals}.values())


def rendered(name: str) -> str:
    """Everything that pitstop says of a case, as text."""
    view = view_of(name)
    proposals, refused = answers_of(name)
    parts = [f"cannot {item.treatment}: {item.reason}\n" for item in refused]
    parts += [f"can {item.name} ({item.numerics}, at most {item.ceiling:.2f}x)\n" for item in proposals]
    chosen = one_of_each_group(proposals)
    for proposal in chosen:
        parts.append(_shown(proposal.name, build_change((proposal,), view), view))
    parts.append(_shown("all together", build_change(chosen, view), view))
    return "".join(parts)


def _shown(title: str, change: Change, view: View) -> str:
    lines = [f"\n#### {title}\n"]
    lines += [f"{name}={value}\n" for name, value in change.env.items()]
    lines += [f"added: {' '.join(change.arguments)}\n"] if change.arguments else []
    lines += [f"replaced: {flag} {value}\n" for flag, value in change.replaced_arguments.items()]
    return "".join([*lines, unified_diff(change, view.sources, root=ROOT)])


def read_expected(name: str) -> str:
    return (CASES / name / "expected.txt").read_bytes().decode()


def _refresh(names: list[str], *, record: bool) -> None:
    for name in names or NAMES:
        folder = CASES / name
        if record and (folder / "frameworks.txt").exists():
            (folder / "evidence.json").write_bytes(_probed(folder))
        elif record:
            words = _arguments(folder)
            command = [sys.executable, str(Path(__file__).with_name("record.py")), str(folder / "evidence.json")]
            subprocess.run([*command, str(folder / "before.py"), *words], check=True, stdout=subprocess.DEVNULL)
        (folder / "expected.txt").write_bytes(rendered(name).encode())


def _arguments(folder: Path) -> list[str]:
    arguments = folder / "arguments.txt"
    return shlex.split(arguments.read_text("utf-8")) if arguments.exists() else []


def _probed(folder: Path) -> bytes:
    """What the real probe sees of a program that needs a framework, as if it lay in ROOT."""
    with tempfile.TemporaryDirectory() as place:
        work, probe = Path(place) / "work", Path(place) / "probe"
        shutil.copytree(folder, work)
        probe.mkdir()
        env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PITSTOP"))}
        env |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
        env |= prepare_probe(probe, ProbeConfig(mode="profile", project_root=str(work)), env)
        command = [str(FRAMEWORKS), "before.py", *_arguments(folder)]
        subprocess.run(command, cwd=work, env=env, check=True, stdout=subprocess.DEVNULL)
        evidence = read_probe(probe, project_root=str(work)).evidence
        environment = msgspec.structs.replace(
            evidence.environment, pid=1, executable="/usr/bin/python3", argv=("before.py", *_arguments(folder))
        )
        evidence = msgspec.structs.replace(evidence, environment=environment, options=_few(evidence.options))
        moved = moved_back(evidence, project=ROOT, target=str(work))
        return msgspec.json.format(msgspec.json.encode(moved), indent=1) + b"\n"


def _few(options: tuple[ArgparseOption, ...]) -> tuple[ArgparseOption, ...]:
    """A framework's parser has some hundred options; those that treatments set, and those of the program, are enough."""
    wanted = ("dataloader", "bf16", "fp16", "torch_compile", "optim")
    return tuple(option for option in options if len(options) < 64 or option.dest.startswith(wanted))


if __name__ == "__main__":
    _refresh([word for word in sys.argv[1:] if word != "--record"], record="--record" in sys.argv)
