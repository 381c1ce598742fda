"""A NaN was hunted here once."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.autograd.set_detect_anomaly(True)  # TODO: remove

x, y = torch.randn(64, 8), torch.randint(0, 2, (64,))
loader = DataLoader(TensorDataset(x, y), batch_size=16)
model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(1):
    for xb, yb in loader:
        with torch.autograd.detect_anomaly(check_nan=False):
            out = model(xb)
            loss = nn.functional.cross_entropy(out, yb)
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()
