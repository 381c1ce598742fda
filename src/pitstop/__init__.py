"""pitstop takes in a slow AI program and hands back a faster one, with proof."""

import sys

__all__ = ["__version__", "step"]

__version__ = "0.1.0"


def step() -> None:
    """Say that one training step has ended, where pitstop cannot tell by itself. Without pitstop watching it does nothing."""
    probe = sys.modules.get("_pitstop_probe.api")
    if probe is not None:
        probe.step()
