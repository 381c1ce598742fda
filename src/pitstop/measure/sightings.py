"""Reading the probe's sightings: one JSON line each, the last word on an id counts, later names merged into optimizers."""

from pathlib import Path

import msgspec

from pitstop.records import (
    AnomalySighting,
    ArgparseOption,
    BackwardSighting,
    CallSighting,
    CollectiveSighting,
    DataParallelSighting,
    DenormalSighting,
    DrainedLoader,
    EnvironmentSighting,
    Evidence,
    ForwardSighting,
    GraphBreak,
    KeptGraphs,
    LoaderSighting,
    ModuleNames,
    OptimizerSighting,
    ProbeFault,
    Recompile,
    SettingsSighting,
    Sighting,
)

__all__ = ["Seen", "read_sightings"]


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What one process's probe saw, and in words what of its file could not be read."""

    sightings: tuple[Sighting, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def environment(self) -> EnvironmentSighting | None:
        """The last word on the process."""
        return next((seen for seen in reversed(self.sightings) if isinstance(seen, EnvironmentSighting)), None)

    @property
    def probe_faults(self) -> tuple[ProbeFault, ...]:
        """Errors that the probe caught in itself."""
        return tuple(seen for seen in self.sightings if isinstance(seen, ProbeFault))

    def evidence(self, project_root: str) -> Evidence:
        """Return it as `Evidence`."""
        loaders = {seen.id: seen for seen in self.sightings if isinstance(seen, LoaderSighting)}
        optimizers = {seen.id: seen for seen in self.sightings if isinstance(seen, OptimizerSighting)}
        wrapped = {seen.id: seen for seen in self.sightings if isinstance(seen, DataParallelSighting)}
        options = {seen.dest: seen for seen in self.sightings if isinstance(seen, ArgparseOption)}
        for names in self.sightings:
            if isinstance(names, ModuleNames) and names.optimizer in optimizers:
                known = optimizers[names.optimizer]
                merged = {**known.modules, **names.modules}
                optimizers[known.id] = msgspec.structs.replace(known, modules=merged)
        return Evidence(
            project_root=project_root,
            environment=self.environment,
            loaders=tuple(loaders.values()),
            optimizers=tuple(optimizers.values()),
            forwards=tuple(seen for seen in self.sightings if isinstance(seen, ForwardSighting)),
            backwards=tuple(seen for seen in self.sightings if isinstance(seen, BackwardSighting)),
            anomalies=tuple(seen for seen in self.sightings if isinstance(seen, AnomalySighting)),
            calls=tuple(seen for seen in self.sightings if isinstance(seen, CallSighting)),
            graph_breaks=tuple(seen for seen in self.sightings if isinstance(seen, GraphBreak)),
            recompiles=tuple(seen for seen in self.sightings if isinstance(seen, Recompile)),
            denormals=tuple(seen for seen in self.sightings if isinstance(seen, DenormalSighting)),
            kept_graphs=tuple(seen for seen in self.sightings if isinstance(seen, KeptGraphs)),
            data_parallel=tuple(wrapped.values()),
            collectives=tuple(seen for seen in self.sightings if isinstance(seen, CollectiveSighting)),
            options=tuple(options.values()),
            settings=tuple(seen for seen in self.sightings if isinstance(seen, SettingsSighting)),
            drained=tuple(seen for seen in self.sightings if isinstance(seen, DrainedLoader)),
            faults=self.probe_faults,
        )


def read_sightings(path: Path) -> Seen:
    """Return the sightings in `path`; lines that cannot be read (a killed process cuts its last) become faults in words."""
    decoder = msgspec.json.Decoder(Sighting)
    sightings, faults = [], []
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return Seen()
    except OSError as error:
        return Seen(faults=(f"{path.name}: {error}",))
    for number, line in enumerate(lines, start=1):
        try:
            sightings.append(decoder.decode(line))
        except msgspec.MsgspecError as error:
            faults.append(f"{path.name}:{number}: {error}")
    return Seen(sightings=tuple(sightings), faults=tuple(faults))
