"""What protects the user's machine from a trial, chosen by trying it."""

from typing import Literal

import msgspec

from pitstop.messages import say

__all__ = ["SandboxPlan", "describe"]


class SandboxPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How trials are protected on this machine. `notes`: what is weaker than it could be, in the chosen language.

    kind "overlay": every file at its own path, writes land in layers that are thrown away; "copy": a copy of the project
    elsewhere, writes outside of it refused; "none": nothing protects, only the processes are ended.
    """

    kind: Literal["overlay", "copy", "none"]
    user_namespace: bool = False
    pid_namespace: bool = False
    landlock: bool = False
    network: Literal["loopback", "no-tcp", "open"] = "open"
    freeze_metadata: bool = (
        False  # changes of mode, owner and times do nothing (copy only: Landlock does not cover them)
    )
    scratch: str = ""  # absolute; trials live below it
    upper: Literal["scratch", "tmpfs"] = "scratch"  # where the layers lie
    disk_limit_bytes: int = 32 << 30  # a trial that writes more is ended
    notes: tuple[str, ...] = ()


def describe(plan: SandboxPlan) -> str:
    """Return what protected the user's files and network in the trials, as one line in the chosen language."""
    parts = [say(f"sandbox.kind_{plan.kind}"), say(f"sandbox.network_{plan.network.replace('-', '_')}")]
    if plan.kind == "overlay":
        parts.append(say("sandbox.as_user" if plan.user_namespace else "sandbox.as_root"))
    if plan.landlock:
        parts.append("Landlock")
    return "; ".join(parts)
