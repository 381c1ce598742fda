"""The parent's side of the probe's protocol (docs/architecture.md): what it is told, and what it left behind."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

import pitstop
from pitstop.measure.events import EventFile, read_events
from pitstop.measure.pipelines import loaders_of_seeds, merged_census, merged_pipelines
from pitstop.measure.sightings import Seen, read_sightings
from pitstop.records import EndOfRun, EventKind, Evidence, ProcessEvents

__all__ = ["ProbeConfig", "ProbeReading", "prepare_probe", "read_probe"]

SCHEMA = 1
_STEM = re.compile(r"\d+-\d+")  # process id and start stamp; equivalence runs leave other files beside them
# What ends a step, best first: the process with the most of the best kind is the one that trains.
_CLOCKS = (EventKind.STEP, EventKind.OPTIMIZER, EventKind.BACKWARD, EventKind.FORWARD, EventKind.FETCH)
_CLEARLY_SLOWER = 1.02  # a rank whose mean step takes longer than rank 0's by this factor is the one that counts


class ProbeConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What the probe is asked to do.

    The program is ended after `stop_after_steps` steps, or once `stop_after_ns` have passed since its first step ended and
    `stop_min_steps` are done; None means that it runs to its own end.
    """

    mode: Literal["profile", "clock", "equivalence"]
    project_root: str
    stop_after_steps: int | None = None
    stop_after_ns: int | None = None
    stop_min_steps: int = 0
    warmup_steps: int = 0
    sample_hz: int = 0  # stack samples per second in profile mode, 0 = off
    equivalence: dict[str, object] | None = None
    intervention: dict[str, object] | None = (
        None  # "what", "loaders", and for a loader alone "batches", "warm", "limit_ns"
    )
    schema: int = SCHEMA


class ProbeReading(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a probe folder says. `connected`: the probe was there in at least one Python process."""

    processes: tuple[ProcessEvents, ...]
    evidence: Evidence
    end: EndOfRun | None
    stack_samples: tuple[tuple[str, int], ...]
    faults: tuple[str, ...]
    connected: bool


def prepare_probe(folder: Path, config: ProbeConfig, env: Mapping[str, str]) -> dict[str, str]:
    """Write `config.json` into `folder` and return what to add to the environment `env` of the command."""
    (folder / "config.json").write_bytes(msgspec.json.encode(config))
    inject = str(Path(pitstop.__file__).resolve().parent / "probe" / "inject")
    users = env.get("PYTHONPATH", "")
    # An empty entry would mean the working directory, which the user did not ask for.
    return {"PITSTOP_PROBE_DIR": str(folder.resolve()), "PYTHONPATH": f"{inject}:{users}" if users else inject}


def read_probe(folder: Path, *, project_root: str) -> ProbeReading:
    """Return what the probe wrote into `folder`. Damaged or missing files become faults in words; nothing is raised."""
    names = {path.name.split(".")[0] for path in folder.glob("*")}
    stems = sorted((name for name in names if _STEM.fullmatch(name)), key=_start_stamp)
    seen = {stem: read_sightings(folder / f"{stem}.sightings.jsonl") for stem in stems}
    files = {stem: read_events(path) for stem in stems if (path := folder / f"{stem}.events").exists()}
    main, ranks = _training(files, seen)
    known = seen[main] if main is not None else _first_with_environment(seen)
    evidence = known.evidence(project_root)
    if main is not None:
        seeds = loaders_of_seeds(files[main].events)
        loading = [seen[stem].sightings for stem in stems if stem == main or _is_worker(files, stem)]
        evidence = msgspec.structs.replace(
            evidence, pipelines=merged_pipelines(loading, seeds), census=merged_census(loading, seeds)
        )
    faults = [fault for stem in stems for fault in (*(files[stem].faults if stem in files else ()), *seen[stem].faults)]
    faults += [f"{fault.where}: {fault.error}" for stem in stems for fault in seen[stem].probe_faults]
    end, end_faults = _read_end(folder, main, stems)
    samples, sample_faults = _read_samples(folder, [stem for stem in stems if stem == main or _is_worker(files, stem)])
    return ProbeReading(
        processes=tuple(
            ProcessEvents(
                pid=file.pid,
                role="main" if stem == main else "rank" if stem in ranks else file.role,
                events=file.events,
                rank=ranks.get(stem),
            )
            for stem, file in files.items()
        ),
        evidence=evidence,
        end=end,
        stack_samples=samples,
        faults=(*faults, *end_faults, *sample_faults),
        connected=bool(stems),
    )


def _start_stamp(stem: str) -> tuple[int, str]:
    return (int(stem.rpartition("-")[2]), stem)


def _training(files: Mapping[str, EventFile], seen: Mapping[str, Seen]) -> tuple[str | None, dict[str, int]]:
    """Return the stem of the process that trains, and of those that train together with it (and itself) the ranks.

    It is the one with the most events of the best step-ending kind, the first among equals. Of several ranks it is
    the slowest, because all wait for it; rank 0 where none is clearly slower, which it is that writes files and evaluates.
    """
    counts = {}
    for stem, file in files.items():
        kinds = [event.kind for event in file.events]
        counts[stem] = tuple(kinds.count(kind) for kind in _CLOCKS) if file.role != "worker" else ()
    main = max(files, key=lambda stem: counts[stem], default=None)
    if main is None or not any(counts[main]):
        return None, {}
    clock = next(kind for kind, count in zip(_CLOCKS, counts[main], strict=True) if count)
    ranks = _ranks(main, seen, {stem: counts[stem][_CLOCKS.index(clock)] for stem in files if counts[stem]})
    if not ranks:
        return main, {}
    step_ns = {stem: _mean_between(files[stem], clock) for stem in ranks}
    first, slowest = min(ranks, key=lambda stem: ranks[stem]), max(ranks, key=lambda stem: step_ns[stem])
    return slowest if step_ns[slowest] > step_ns[first] * _CLEARLY_SLOWER else first, ranks


def _ranks(main: str, seen: Mapping[str, Seen], stepped: Mapping[str, int]) -> dict[str, int]:
    """Return stem -> rank of the processes that step as `main` does, in a group of as many ranks; of restarted ones the busiest."""
    environment = seen[main].environment
    if environment is None or environment.ranks < 2:
        return {}
    found: dict[int, str] = {}
    for stem, steps in stepped.items():
        other = seen[stem].environment
        if steps and other is not None and other.rank is not None and other.ranks == environment.ranks:
            known = found.get(other.rank)
            if known is None or stepped[known] < steps:
                found[other.rank] = stem
    return {stem: rank for rank, stem in found.items()}


def _mean_between(file: EventFile, clock: EventKind) -> float:
    """Return the mean time between the ends of two events of kind `clock`; 0 where there are no two."""
    ends = [event.end_ns for event in file.events if event.kind is clock]
    return (ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 else 0.0


def _first_with_environment(seen: Mapping[str, Seen]) -> Seen:
    return next((found for found in seen.values() if found.environment is not None), Seen())


def _is_worker(files: Mapping[str, EventFile], stem: str) -> bool:
    return stem in files and files[stem].role == "worker"


def _read_end(folder: Path, main: str | None, stems: list[str]) -> tuple[EndOfRun | None, list[str]]:
    """Return the training process's end, or where nothing trained the end of the first process that has one."""
    for stem in [main] if main is not None else stems:
        path = folder / f"{stem}.end.json"
        if path.exists():
            try:
                return msgspec.json.decode(path.read_bytes(), type=EndOfRun), []
            except (msgspec.MsgspecError, OSError) as error:
                return None, [f"{path.name}: {error}"]
    return None, []


def _read_samples(folder: Path, stems: list[str]) -> tuple[tuple[tuple[str, int], ...], list[str]]:
    total: dict[str, int] = {}
    faults: list[str] = []
    for stem in stems:
        path = folder / f"{stem}.samples.json"
        if not path.exists():
            continue
        try:
            for where, count in msgspec.json.decode(path.read_bytes(), type=dict[str, int]).items():
                total[where] = total.get(where, 0) + count
        except (msgspec.MsgspecError, OSError) as error:
            faults.append(f"{path.name}: {error}")
    return tuple(sorted(total.items(), key=lambda item: (-item[1], item[0]))), faults
