"""Hugging Face transformers: `TrainingArguments` and what is derived from it."""

from .construction import watch_construction

_NAMES = (
    "dataloader_num_workers",
    "dataloader_persistent_workers",
    "dataloader_pin_memory",
    "bf16",
    "fp16",
    "torch_compile",
    "torch_compile_mode",
    "optim",
)


def install(module, session):
    """Watch the construction; a dataclass's `__post_init__` is the one method that subclasses share."""
    watch_construction(
        session,
        module.TrainingArguments,
        "__post_init__",
        framework="transformers",
        names=_NAMES,
        values=lambda arguments, _given: vars(arguments),
    )
