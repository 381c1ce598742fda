import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)

    def forward(self, x):
        return self.conv(x).mean((1, 2, 3))

model = Net()
loader = DataLoader(TensorDataset(torch.randn(8, 1, 6, 6), torch.randn(8)), batch_size=4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    loss = (model(x) - y).abs().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()