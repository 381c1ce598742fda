"""Only parts of torch are imported by name."""

from __future__ import annotations

import os
from torch import nn, randn
from torch.optim import AdamW as Optimizer
from torch.utils.data import DataLoader as Loader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Conv1d(4, 2, 1)

    def forward(self, x):
        return self.fc(x)


def main() -> None:
    os.makedirs("/tmp", exist_ok=True)
    net = Net()
    opt = Optimizer(net.parameters())
    for (x,) in Loader(TensorDataset(randn(8, 4, 3)), batch_size=2, shuffle=True):
        loss = net(x).pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    main()
