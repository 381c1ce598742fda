"""Lightning, under both of its names: `Trainer`."""

from .construction import watch_construction


def install(module, session):
    """Watch the construction."""
    watch_construction(
        session,
        module.Trainer,
        "__init__",
        framework=module.__name__.partition(".")[0],
        names=("precision",),
        values=lambda trainer, _given: {"precision": trainer.precision},
    )
