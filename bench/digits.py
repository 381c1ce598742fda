"""The program that `bench/aa.py` compares with itself: a small convolutional network on scikit-learn's handwritten digits."""

import importlib.util
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 200


def load() -> TensorDataset:
    """Return 1,797 pictures of 8x8 with their labels; the file is read without importing scikit-learn, which takes a second."""
    spec = importlib.util.find_spec("sklearn")
    rows = np.loadtxt(Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz", delimiter=",", dtype=np.float32)
    return TensorDataset(torch.from_numpy(rows[:, :-1] / 16).view(-1, 1, 8, 8), torch.from_numpy(rows[:, -1]).long())


def main() -> None:
    torch.manual_seed(0)
    loader = DataLoader(load(), batch_size=64, shuffle=True)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(512, 10),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(EPOCHS):
        total = 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
