"""Running the user's program once: as it is (`pitstop profile`), or as a disposable trial in a sandbox."""

from collections.abc import Callable
from pathlib import Path

from pitstop.measure.as_it_is import run_as_it_is
from pitstop.measure.execution import Execution, Output
from pitstop.measure.probe_folder import ProbeConfig
from pitstop.measure.sandbox.plan import SandboxPlan
from pitstop.measure.trial import run_trial
from pitstop.records import Change, Program, Run

__all__ = ["Output", "run_program"]


def run_program(
    program: Program,
    *,
    folder: Path,
    project_root: Path,
    probe: ProbeConfig | None,
    sandbox: SandboxPlan | None = None,
    change: Change | None = None,
    timeout_s: float | None = None,
    memory_limit_bytes: int | None = None,
    output: Output = "inherit",
    compile_cache: Path | None = None,
    seed: Path | None = None,
    keep_layers: Path | None = None,
    on_tick: Callable[[], None] | None = None,
    address_space_bytes: int | None = None,
) -> Run:
    """Run `program` to its end and return what was observed; a crash, a hang and a kill are results, not errors.

    Without `sandbox` the program has pitstop's own standard streams (output "stderr": its output goes to standard error),
    gets the signals that pitstop gets, and may leave processes behind as it would without pitstop. With it, the program
    reads nothing, "capture" keeps its output in the files `stdout` and `stderr` of `folder`, and nothing that it starts or
    writes survives, except: `compile_cache` is made from its compiler caches after a clean end if there is none yet (and given
    to it as its own copy if there is), and `keep_layers`, which must not exist, receives what it wrote, for `collect_seed`.
    `seed` is a tree of files that it finds as if they had always been there. `address_space_bytes` limits the address
    space of each process of a trial (RLIMIT_AS). `on_tick` is called about ten times a second;
    what it raises ends the run and is raised here.
    Raises WrongUse if the command cannot be started, CouldNotMeasure if the sandbox cannot be made.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    execution = Execution(
        program=program,
        folder=folder,
        project_root=project_root.resolve(),
        probe=probe,
        change=change or Change(),
        timeout_s=timeout_s,
        memory_limit_bytes=memory_limit_bytes,
        output=output,
        on_tick=on_tick or _nothing,
        address_space_bytes=address_space_bytes,
    )
    if sandbox is None:
        return run_as_it_is(execution)
    return run_trial(execution, sandbox, compile_cache=compile_cache, seed=seed, keep_layers=keep_layers)


def _nothing() -> None:
    pass
