"""Lightning, under both of its names: `Trainer`. Loaders and optimizers are made in the user's own source there."""

from pitstop.treat.frameworks.contract import Framework

__all__ = ["LIGHTNING"]

LIGHTNING = Framework(
    packages=("lightning", "pytorch_lightning"),
    class_name="Trainer",
    arguments={"bf16": {"precision": "bf16-mixed"}},
    compiled_call="fit",
)
