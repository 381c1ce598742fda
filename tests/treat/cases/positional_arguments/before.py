import torch
from torch import nn, optim
from torch.utils import data


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        return self.fc(x)


def main():
    set_ = data.TensorDataset(torch.randn(16, 4), torch.randn(16, 1))
    loader = data.DataLoader(set_, 4, True, None, None, 0)
    net = Net()
    optimizer = optim.Adam(net.parameters(), 0.001, (0.9, 0.99), fused=False)
    for x, y in loader:
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad(), loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
