"""Handwritten-digit-like data for the loops: made up, of the right shape, the same in every run."""

import torch
from torch.utils.data import DataLoader, TensorDataset


def digits(many):
    generator = torch.Generator().manual_seed(many)
    labels = torch.randint(0, 10, (many,), generator=generator)
    images = torch.rand(many, 64, generator=generator) * 0.1
    images[torch.arange(many), labels * 6] += 1.0
    return TensorDataset(images, labels)


def loader(many=320, batch=16, **options):
    return DataLoader(digits(many), batch_size=batch, **options)


def network(width=256):
    return torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, 10))
