"""Tell photographs apart by patches of them: a small convolutional network on the pictures that scikit-image ships."""

import argparse

import numpy as np
import skimage.data
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SIDE = 96


def patches(per_photograph, seed):
    rng = np.random.default_rng(seed)
    photographs = [skimage.data.astronaut(), skimage.data.chelsea(), skimage.data.coffee(), skimage.data.rocket()]
    images, labels = [], []
    for label, photograph in enumerate(photographs):
        for _ in range(per_photograph):
            top = rng.integers(photograph.shape[0] - SIDE)
            left = rng.integers(photograph.shape[1] - SIDE)
            images.append(photograph[top : top + SIDE, left : left + SIDE].transpose(2, 0, 1))
            labels.append(label)
    return TensorDataset(torch.from_numpy(np.stack(images)).float() / 255, torch.tensor(labels))


def train(model, loader, optimizer, epochs):
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        total = 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
        print(f"epoch {epoch}: loss {total / len(loader.dataset):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=256)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(4),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 4),
    )
    loader = DataLoader(patches(300, seed=0), batch_size=args.batch_size, shuffle=True)
    train(model, loader, torch.optim.AdamW(model.parameters(), lr=1e-3), args.epochs)


if __name__ == "__main__":
    main()
