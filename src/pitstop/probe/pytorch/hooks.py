"""Installs the hooks that a mode asks for, each in its own file. One that cannot be installed does not keep out the others."""

from .. import collector
from . import (
    anomalies,
    backwards,
    calls,
    checkpoints,
    collectives,
    compilations,
    denormals,
    device_marks,
    dynamo_reasons,
    interventions,
    kept_graphs,
    loaders,
    modules,
    optimizers,
)
from .bursts import Bursts
from .environment import Environment
from .hooked import Hooked
from .pipelines import Pipelines


def install(torch, session):
    """Install all hooks on `torch` for `session.mode`, "profile" or "clock"."""
    hooked = Hooked(torch, session)
    hooked.environment = Environment(hooked)
    parts = [
        interventions.install,
        loaders.install,
        optimizers.install,
        backwards.install,
        modules.install,
        compilations.install,
    ]
    if session.mode == "profile":
        parts += [
            collectives.install,
            checkpoints.install,
            anomalies.install,
            calls.install,
            denormals.install,
            device_marks.install,
            dynamo_reasons.install,
            kept_graphs.install,
        ]
        collector.install(session)
        session.sample(hooked.categories)
        if session.sampler is not None:
            session.sampler.uses_device = torch.cuda.is_initialized
        hooked.bursts = Bursts(hooked)
        hooked.pipelines = Pipelines(hooked)
    session.on_first_step = hooked.environment.used
    session.forked.append(hooked.forget)
    session.ending.append(hooked.lean.end)
    session.ending.append(hooked.device.last)
    session.clock.after(max(1, session.config.get("warmup_steps") or 0), hooked.begin_window)
    for part in parts:
        try:
            part(hooked)
        except Exception as error:
            session.fault("install " + part.__module__, error)
