import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACCUMULATE = 4


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 1))

    def forward(self, x):
        return self.layers(x)


def train(model, loader, optimizer, criterion):
    model.train()
    optimizer.zero_grad()
    total = 0.
    for i, (x, target) in enumerate(loader):
        # average over the micro-batches
        prediction = model(x)
        loss = criterion(prediction.squeeze(-1), target) / ACCUMULATE
        if not torch.isfinite(loss):
            print("not finite")
        loss.backward()
        total += loss.item()
        if (i + 1) % ACCUMULATE == 0:
            optimizer.step()
            optimizer.zero_grad()
    return total


if __name__ == "__main__":
    data = TensorDataset(torch.randn(64, 10), torch.randn(64))
    loader = DataLoader(data, 4, True)
    model = Model()
    print(train(model, loader, torch.optim.Adagrad(model.parameters()), nn.MSELoss()))
