import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(6)])
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.9)

for x, y in DataLoader(data, batch_size=16):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
