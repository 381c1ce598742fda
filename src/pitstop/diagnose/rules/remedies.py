"""What to write where a library makes the object in question: its own setting, by library and kind of object."""

__all__ = ["remedy"]

_OF_LIBRARY = {
    (
        "transformers",
        "workers",
    ): "TrainingArguments(..., dataloader_num_workers=2, dataloader_persistent_workers=True)",
    ("transformers", "fused"): 'TrainingArguments(..., optim="adamw_torch_fused")',
}


def remedy(library: str | None, what: str, *, otherwise: str) -> str:
    """Return the setting of `library` for `what`, or the call `otherwise` of the user's own source."""
    return _OF_LIBRARY.get((library or "", what), otherwise)
