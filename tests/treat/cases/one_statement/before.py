import torch
import torch.nn.functional as F
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
for _ in range(3):
    x, y = torch.randn(8, 4), torch.randint(2, (8,))
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()  # no name needed
    opt.step()
