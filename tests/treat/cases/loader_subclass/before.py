import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class FastLoader(DataLoader):
    def __init__(self, dataset, batch_size):
        super().__init__(dataset, batch_size=batch_size, shuffle=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        return self.fc(x)

    def training_step(self, batch):
        x, y = batch
        return {"loss": nn.functional.l1_loss(self(x), y)}


def main():
    loader = FastLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 1)), 4)
    net = Net()
    optimizer_class = getattr(torch.optim, "AdamW")
    optimizer = optimizer_class(net.parameters(), lr=1e-3)
    for batch in loader:
        result = net.training_step(batch)
        optimizer.zero_grad()
        result["loss"].backward()
        optimizer.step()


if __name__ == "__main__":
    main()
