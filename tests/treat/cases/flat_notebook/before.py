import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

# %% data
X = torch.randn(64, 3, 8, 8)
y = torch.randint(0, 2, (64,))
train_ds = TensorDataset(X, y)
train_dl = DataLoader(train_ds, batch_size=16, shuffle=True)

# %% model
class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.out = nn.Linear(8 * 6 * 6, 2)
    def forward(self, x):
        return self.out(F.relu(self.conv(x)).flatten(1))

net = Tiny()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

# %% train
for epoch in range(1):
    running = 0.0
    for xb, yb in train_dl:
        pred = net(xb)
        loss = F.cross_entropy(pred, yb)
        running += loss.item()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, running)
