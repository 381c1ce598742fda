"""The sine waves of the time sequence example, as its own generator makes them: 100 waves of 1000 points, random phases."""

from pathlib import Path

import numpy as np
import torch

__all__ = ["make_sines"]

WAVES, POINTS, PERIOD = 100, 1000, 20


def make_sines(folder: Path) -> None:
    """Write `traindata.pt`: float64 of shape (100, 1000)."""
    phases = np.random.default_rng(2).integers(-4 * PERIOD, 4 * PERIOD, (WAVES, 1))
    waves = np.sin((np.arange(POINTS) + phases) / PERIOD)
    torch.save(waves, folder / "traindata.pt", pickle_protocol=4)
