import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_loader(dataset, train, batch_size=4, workers=0):
    return DataLoader(dataset, batch_size=batch_size, shuffle=train, num_workers=workers, drop_last=train)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        return self.fc(x)


def main():
    data = TensorDataset(torch.randn(16, 4), torch.randn(16, 1))
    train_loader = make_loader(data, train=True)
    val_loader = make_loader(data, train=False, batch_size=8)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in train_loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(sum(nn.functional.mse_loss(model(x), y) for x, y in val_loader))


if __name__ == "__main__":
    main()
