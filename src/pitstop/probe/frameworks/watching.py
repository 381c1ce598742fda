"""Watches the frameworks' configuration: one function per framework, called once the program has imported it."""

from . import hugging_face, hydra, lightning


def watch(session):
    """Wait for the frameworks. Only profiles want to know."""
    when = session.watch.when
    when("transformers.training_args", lambda module: hugging_face.install(module, session))
    for name in ("lightning.pytorch.trainer.trainer", "pytorch_lightning.trainer.trainer"):
        when(name, lambda module: lightning.install(module, session))
    when("hydra.core.hydra_config", lambda module: hydra.install(module, session))
