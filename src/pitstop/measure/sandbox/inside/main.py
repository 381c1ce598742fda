"""The launcher: sets up what the plan says, starts the user's command, waits, and says over a pipe what happened.

pitstop -> launcher -> (first process of a PID namespace) -> the user's command. Without a sandbox the launcher only
restores what Python changed in its own process and becomes the command. Lines on the pipe are JSON objects with one of the keys
`started` (CLOCK_MONOTONIC ns; with `pid`), `failed` (the stage; with `errno`, `error`), `ended` (exit code; with `time_ns`,
`cpu_ns`, `peak_rss_bytes`), and once `read_only` (paths the program cannot write at all).
"""

import contextlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any, NoReturn

from . import devices, frozen_metadata, kept_layers, landlock, network, privileges
from .lay import lay
from .private_root import PrivateRoot, seal
from .syscalls import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    MS_BIND,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    PR_SET_CHILD_SUBREAPER,
    PR_SET_PDEATHSIG,
    mount,
    pivot_root,
    prctl,
    unshare,
)

_SEALED_PROC = ("sys", "sysrq-trigger", "irq", "bus", "fs")


class _Stopped(Exception):
    """The parent asked for the end of the trial, or died."""


def main(path: str) -> NoReturn:
    """Read the launch file at `path` and carry it out; the exit status says nothing that the pipe does not."""
    with open(path, encoding="utf-8") as file:
        launch: dict[str, Any] = json.load(file)
    os.set_inheritable(launch["report_fd"], False)
    for name in launch["absent"]:  # put there by the start of this interpreter (PEP 538), not by the user
        os.environ.pop(name, None)
    if launch["kind"] == "plain":
        _become(launch)
    with _stage(launch, "launcher"):
        signal.signal(signal.SIGTERM, _stop)
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != launch["parent"]:
            os._exit(1)
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    _enter_namespaces(launch)
    if launch["pid_namespace"]:
        _be_parent_of_first(launch)
    _be_first(launch)


def _enter_namespaces(launch: dict[str, Any]) -> None:
    uid, gid = os.geteuid(), os.getegid()
    addresses = network.own_addresses() if launch["network_namespace"] else []
    if launch["user_namespace"]:
        with _stage(launch, "user_namespace"):
            unshare(CLONE_NEWUSER)
            privileges.map_current_user(uid, gid)
            prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # cleared where the credentials changed
    if launch["kind"] == "overlay":
        with _stage(launch, "mount_namespace"):
            unshare(CLONE_NEWNS)
            mount("none", "/", None, MS_REC | MS_PRIVATE)
    if launch["network_namespace"]:
        with _stage(launch, "network_namespace"):
            unshare(CLONE_NEWNET)
            network.raise_loopback(addresses)
    if launch["kind"] == "overlay" or launch["network_namespace"]:  # the latter: then this is allowed as well
        with _stage(launch, "ipc_namespace"):
            unshare(CLONE_NEWIPC)
    if launch["pid_namespace"]:
        with _stage(launch, "pid_namespace"):
            unshare(CLONE_NEWPID)


def _be_parent_of_first(launch: dict[str, Any]) -> None:
    """Fork; the child goes on as the first process of the PID namespace, the parent never returns."""
    child = os.fork()
    if not child:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with _stage(launch, "launcher"):
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # the whole namespace ends with its first process
        return
    try:
        os.waitpid(child, 0)
    except _Stopped:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os._exit(0)


def _be_first(launch: dict[str, Any]) -> NoReturn:
    """Make the world, start the command in it, reap everything, end everything."""
    kept = _make_world(launch) if launch["kind"] == "overlay" else None
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # no end between the fork and the wait
    command = os.fork()
    if not command:
        _become_command(launch)
    code = -signal.SIGKILL
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        code = _exit_code_of(command)
    except _Stopped:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    finally:
        if not launch["pid_namespace"]:
            _end_descendants()
    ended_ns = time.monotonic_ns()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_ns = int((usage.ru_utime + usage.ru_stime) * 1e9)
    if kept is not None:
        with _stage(launch, "keep_layers"):
            kept_layers.copy(kept)
    code = code if code >= 0 else 128 - code
    _report(launch, ended=code, time_ns=ended_ns, cpu_ns=cpu_ns, peak_rss_bytes=usage.ru_maxrss * 1024)
    os._exit(0)


def _exit_code_of(command: int) -> int:
    """Reap whatever ends until the command does; negative for a signal, as subprocess has it."""
    while True:
        pid, status = os.wait()
        if pid == command:
            return os.waitstatus_to_exitcode(status)


def _make_world(launch: dict[str, Any]) -> kept_layers.Kept | None:
    new = launch["root"]
    kept = None
    with _stage(launch, "layers"):
        if launch["tmpfs_bytes"] is not None:
            mount("tmpfs", launch["layers"], "tmpfs", MS_NOSUID, f"mode=700,size={launch['tmpfs_bytes']}")
        if launch["keep_layers"] is not None:
            layers = kept_layers.open_folder(launch["layers"])
            kept = kept_layers.Kept(layers, kept_layers.open_folder(launch["keep_layers"]))
    with _stage(launch, "overlay"):
        root = PrivateRoot(
            new, layers=launch["layers"], seed=launch["seed"], in_user_namespace=launch["user_namespace"]
        )
        root.build()
        exposed = [path for path in launch["required"] if not root.protects(path)]
        if exposed:
            raise OSError(0, f"no private layer over {', '.join(exposed)}")
    with _stage(launch, "proc"):
        if launch["pid_namespace"]:
            mount("proc", f"{new}/proc", "proc", MS_NOSUID)
        else:
            mount("/proc", f"{new}/proc", None, MS_BIND | MS_REC)
        if not launch["user_namespace"]:
            _seal_proc(new)
        mount("/sys", f"{new}/sys", None, MS_BIND | MS_REC)
        seal(f"{new}/sys")
    with _stage(launch, "devices"):
        devices.build(new)
    with _stage(launch, "binds"):
        mount("tmpfs", new + launch["scratch"], "tmpfs", MS_NOSUID, "mode=755,size=1m")
        for source, target in launch["binds"]:
            os.makedirs(new + target, exist_ok=True)
            mount(source, new + target, None, MS_BIND)
    with _stage(launch, "pivot_root"):
        pivot_root(new)
    with _stage(launch, "files"):
        lay(launch["laid"], removed=launch["removed"], kept_folder=launch["cwd"])
        for path, text in launch["files"].items():
            _write(path, text)
    _report(launch, read_only=root.read_only)
    return kept


def _seal_proc(new: str) -> None:
    """Root may write kernel settings by file permission alone; a capability is not asked for."""
    for name in _SEALED_PROC:
        place = f"{new}/proc/{name}"
        if os.path.exists(place):
            mount(place, place, None, MS_BIND)
            seal(place)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:  # keeps mode and follows links, inside
        file.write(text)


def _become_command(launch: dict[str, Any]) -> NoReturn:
    """In the child: own session, no way back, the user's command."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    with _stage(launch, "command"):
        os.setsid()
        if not launch["pid_namespace"]:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        _be_first_to_go()
    with _stage(launch, "limit"):
        _limit_address_space(launch.get("address_space_bytes"))
    with _stage(launch, "cwd"):
        os.chdir(launch["cwd"])
    with _stage(launch, "privileges"):
        privileges.forbid_new_privileges()
    if launch["landlock"]:
        with _stage(launch, "landlock"):
            writable = ["/"] if launch["kind"] == "overlay" else launch["writable"] + devices.usable_devices()
            landlock.restrict(writable=writable, refuse_tcp=launch["refuse_tcp"])
    if launch["freeze_metadata"]:
        with _stage(launch, "seccomp"):
            frozen_metadata.freeze_metadata(refuse_truncate=landlock.abi() < 3)
    if launch["kind"] != "none":
        with _stage(launch, "privileges"):
            privileges.drop(keep_root_powers=not launch["user_namespace"])
    _exec(launch)


def _limit_address_space(limit_bytes: int | None) -> None:
    """Limit the command as `ulimit -v` would; a tighter limit of the user's own stays."""
    if limit_bytes is not None:
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        within = [limit for limit in (limit_bytes, soft, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min(within), hard))


def _be_first_to_go() -> None:
    """If the machine runs out of memory, the kernel picks the trial, not the user's other programs."""
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")


def _become(launch: dict[str, Any]) -> NoReturn:
    with _stage(launch, "cwd"):
        os.chdir(launch["cwd"])
    _exec(launch)


def _exec(launch: dict[str, Any]) -> NoReturn:
    for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them; programs start with the default
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    with _stage(launch, "exec"):
        _report(launch, started=time.monotonic_ns(), pid=os.getpid())
        os.execvp(launch["argv"][0], launch["argv"])  # noqa: S606 - the user's own command line
    raise AssertionError


def _end_descendants() -> None:
    """Kill everything that was started below this process, until nothing is left to wait for."""
    while True:
        for child in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def _children() -> list[int]:
    """Direct children; a killed child's own children become ours, as we are their subreaper."""
    own, found = os.getpid(), []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
                if int(stat.read().rpartition(b")")[2].split()[1]) == own:
                    found.append(int(name))
    return found


@contextlib.contextmanager
def _stage(launch: dict[str, Any], name: str) -> Iterator[None]:
    """Any error inside ends this process and reaches pitstop with the stage's name."""
    try:
        yield
    except _Stopped:
        os._exit(1)
    except Exception as error:  # noqa: BLE001 - reported over the pipe, whatever it is
        _report(launch, failed=name, errno=getattr(error, "errno", None), error=f"{type(error).__name__}: {error}")
        os._exit(1)


def _report(launch: dict[str, Any], **line: object) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(launch["report_fd"], json.dumps(line).encode() + b"\n")


def _stop(*_: object) -> NoReturn:
    raise _Stopped


if __name__ == "__main__":
    main(sys.argv[1])
