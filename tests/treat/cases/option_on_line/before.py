import argparse

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", "--workers", default=4, type=int, help="data loading workers")
    parser.add_argument("--opt", default="sgd")
    return parser.parse_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Conv2d(1, 2, 2)

    def forward(self, x):
        return self.fc(x)


def main():
    args = parse()
    workers = args.workers
    train_loader = DataLoader(TensorDataset(torch.randn(8, 1, 4, 4)), batch_size=4, shuffle=True, num_workers=workers)
    model = Net()
    # choose the optimizer
    if args.opt == "sgd":
        optimizer = optim.SGD(model.parameters(), lr=0.1)
    elif args.opt == "adam":
        optimizer = optim.Adam(model.parameters(), lr=0.1)
    else:
        raise ValueError(args.opt)
    for (x,) in train_loader:
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
