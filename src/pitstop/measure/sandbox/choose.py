"""Choosing the sandbox: each protection is tried on this machine, in a child, with a program that tries to write."""

import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal

import msgspec

from pitstop.errors import CouldNotMeasure, PitstopError
from pitstop.measure.launcher import start
from pitstop.measure.machine import available_memory_bytes
from pitstop.measure.sandbox.inside import frozen_metadata, landlock
from pitstop.measure.sandbox.plan import SandboxPlan
from pitstop.measure.sandbox.scratch import sweep
from pitstop.measure.sandbox.world import World
from pitstop.messages import say
from pitstop.records import Change

__all__ = ["plan_sandbox"]

_MOST_DISK_BYTES = 32 << 30
_SHARE_OF_FREE = 0.5  # of disk or memory that a trial's files may take
_ATTEMPT_S = 30.0
# Overlay needs renames between folders to work as outside, which Landlock allows from ABI 2 on.
_LANDLOCK_FOR_OVERLAY = 2
_LANDLOCK_REFUSES_TCP = 4

# The path is spelled in hexadecimal so that nothing maps it to a copy.
_TRY_TO_WRITE = """
import sys
try:
    open(bytes.fromhex(sys.argv[1]), "xb").close()
except OSError:
    pass
"""


def plan_sandbox(
    *, project_root: Path, scratch: Path, allow_network: bool = False, unsafe: bool = False
) -> SandboxPlan:
    """Return the strongest sandbox that works here; removes trial folders in `scratch` that a killed pitstop left.

    Raises CouldNotMeasure, saying what was tried, where nothing protects files or network, unless `unsafe`.
    """
    scratch = scratch.resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    sweep(scratch)
    tried: list[str] = []
    if sys.platform == "linux":
        for plan in _candidates(scratch, allow_network=allow_network):
            chosen = _strongest(plan, project_root.resolve(), tried)
            if chosen is not None:
                return msgspec.structs.replace(chosen, notes=_notes(chosen))
    if unsafe:
        return SandboxPlan(kind="copy", scratch=str(scratch), notes=(say("sandbox.note_unsafe"),))
    raise CouldNotMeasure("sandbox.nothing_protects", tried="; ".join(tried) or sys.platform)


def _candidates(scratch: Path, *, allow_network: bool) -> list[SandboxPlan]:
    abi = landlock.abi()
    network: Literal["loopback", "open"] = "open" if allow_network else "loopback"
    disk = min(_MOST_DISK_BYTES, round(shutil.disk_usage(scratch).free * _SHARE_OF_FREE))
    overlays = [
        SandboxPlan(
            kind="overlay",
            user_namespace=in_user_namespace,
            pid_namespace=True,
            landlock=abi >= _LANDLOCK_FOR_OVERLAY,
            network=network,
            scratch=str(scratch),
            disk_limit_bytes=disk,
        )
        for in_user_namespace in ([False, True] if os.geteuid() == 0 else [True])
    ]
    if not abi:
        return overlays
    copy = SandboxPlan(
        kind="copy",
        user_namespace=network == "loopback" and os.geteuid() != 0,
        landlock=True,
        freeze_metadata=frozen_metadata.supported(),
        network=network,
        scratch=str(scratch),
        disk_limit_bytes=disk,
    )
    return [*overlays, copy]


def _strongest(plan: SandboxPlan, project_root: Path, tried: list[str]) -> SandboxPlan | None:
    """Try `plan`, then weaker ones of its kind, guided by what failed; None where none works."""
    current: SandboxPlan | None = plan
    while current is not None:
        failure = _attempt(current, project_root)
        if failure is None:
            return current
        stage, why = failure
        tried.append(f"{current.kind}{' (user namespace)' if current.user_namespace else ''}: {stage}: {why}")
        current = _weaker(current, stage)
    return None


def _weaker(plan: SandboxPlan, stage: str) -> SandboxPlan | None:
    """Return `plan` without what failed, None where it cannot do without."""
    change = msgspec.structs.replace
    if stage in {"pid_namespace", "proc"} and plan.pid_namespace:
        return change(plan, pid_namespace=False)
    if stage in {"layers", "overlay"} and plan.upper == "scratch":
        memory = round(available_memory_bytes() * _SHARE_OF_FREE)
        return change(plan, upper="tmpfs", disk_limit_bytes=min(plan.disk_limit_bytes, memory))
    can_refuse_tcp = plan.landlock and landlock.abi() >= _LANDLOCK_REFUSES_TCP
    if stage == "network_namespace" and plan.network == "loopback" and can_refuse_tcp:
        return change(plan, network="no-tcp")
    if stage == "user_namespace" and plan.kind == "copy" and plan.user_namespace and can_refuse_tcp:
        return change(plan, user_namespace=False, network="no-tcp")
    if stage == "landlock" and plan.kind == "overlay" and plan.landlock:
        return change(plan, landlock=False)
    return None


def _attempt(plan: SandboxPlan, project_root: Path) -> tuple[str, str] | None:
    """Run a program that writes into the project; returns the failed stage and why, None where all is well."""
    witness = project_root / f".pitstop-{secrets.token_hex(8)}"
    empty = Path(plan.scratch) / "nothing"  # copying a whole project to find out whether copies work would be dear
    empty.mkdir(exist_ok=True)
    place = empty if plan.kind == "copy" else project_root
    try:
        world = World(plan, project_root=place, change=Change())
    except (OSError, PitstopError) as error:
        return "folder", str(error)
    try:
        world.take_cache(None)
        argv = [sys.executable, "-I", "-S", "-c", _TRY_TO_WRITE, os.fsencode(witness).hex()]
        orders = {**world.launch(probe_folder=None, seed=None, keep_layers=None), "argv": argv, "cwd": "/"}
        orders["required"] = [str(project_root)]
        launched = start(
            orders,
            launch_file=world.folder / "launch.json",
            env=world.environment(dict(os.environ)),
            new_session=True,
            streams={"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL},
        )
        deadline_s = _ATTEMPT_S
        while not launched.silent and deadline_s > 0:
            launched.listen(0.5)
            deadline_s -= 0.0 if launched.ended or launched.failed else 0.5
        launched.stop()
        if launched.failed:
            return launched.failed["failed"], launched.failed["error"]
        if witness.exists():
            witness.unlink()
            return "protection", say("sandbox.wrote_through")
        if not launched.ended or launched.ended["ended"]:
            return "command", f"exit {launched.ended and launched.ended['ended']}"
    finally:
        world.remove()
    return None


def _notes(plan: SandboxPlan) -> tuple[str, ...]:
    notes = []
    if plan.kind == "copy":
        notes.append(say("sandbox.note_copy"))
    if plan.kind == "overlay" and not plan.pid_namespace:
        notes.append(say("sandbox.note_no_pid_namespace"))
    if plan.upper == "tmpfs":
        notes.append(say("sandbox.note_tmpfs", limit_mib=plan.disk_limit_bytes >> 20))
    if plan.network == "no-tcp":
        notes.append(say("sandbox.note_no_tcp"))
    return tuple(notes)
