import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Measurements(Dataset):
    def __init__(self, rows):
        rng = np.random.default_rng(0)
        self.signals = rng.normal(size=(rows, 6)).astype(np.float32)
        self.labels = rng.integers(0, 3, size=rows)

    def __len__(self):
        return len(self.signals)

    def __getitem__(self, index):
        """One measurement."""
        return torch.from_numpy(self.signals[index]), self.labels[index]


def main():
    torch.manual_seed(0)
    train_set, test_set = Measurements(32), Measurements(16)
    generator = torch.Generator().manual_seed(1)
    train_loader = DataLoader(
        train_set,
        batch_size=8,
        shuffle=True,
        drop_last=True,
        generator=generator,
    )
    test_loader = DataLoader(test_set, batch_size=8)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loss = None
    for _ in range(2):
        for signals, labels in train_loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(signals), labels)
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        right = sum((model(signals).argmax(1) == labels).sum().item() for signals, labels in test_loader)
    print(loss.item(), right, len(train_loader), len(train_loader.dataset))


if __name__ == "__main__":
    main()
