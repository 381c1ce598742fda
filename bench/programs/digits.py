"""Real handwritten digits in MNIST's own files: scikit-learn's 1797 digits (8x8, from the UCI collection), scaled to 28x28.

As in MNIST, the digit fills the inner 20x20 pixels and the values are 0 to 255.
"""

import struct
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

__all__ = ["make_mnist"]

NUM_TRAIN = 1536
UNSIGNED_BYTE = 8


def make_mnist(folder: Path) -> None:
    """Write the four idx files below `folder`/MNIST/raw, where torchvision.datasets.MNIST(folder) looks for them."""
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = np.stack([enlarge(digits.images[index]) for index in order])
    labels = digits.target[order].astype(np.uint8)
    for split, part in (("train", slice(None, NUM_TRAIN)), ("t10k", slice(NUM_TRAIN, None))):
        write_idx(raw / f"{split}-images-idx3-ubyte", images[part])
        write_idx(raw / f"{split}-labels-idx1-ubyte", labels[part])


def enlarge(digit: np.ndarray) -> np.ndarray:
    """8x8 values of 0 to 16 -> 28x28 bytes."""
    small = Image.fromarray((digit * (255 / 16)).astype(np.uint8))
    large = np.zeros((28, 28), dtype=np.uint8)
    large[4:24, 4:24] = np.asarray(small.resize((20, 20), Image.Resampling.BICUBIC))
    return large


def write_idx(path: Path, values: np.ndarray) -> None:
    """Write bytes in the idx format: two zeros, type, number of dimensions, sizes as big-endian u32, data."""
    header = struct.pack(f">BBBB{values.ndim}I", 0, 0, UNSIGNED_BYTE, values.ndim, *values.shape)
    path.write_bytes(header + values.astype(np.uint8).tobytes())
