import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        return self.fc(x)


net = Net()
opt = torch.optim.Adam(net.parameters(), fused=True)
for _ in range(2):
    with torch.autocast("cpu", torch.bfloat16):
        loss = net(torch.randn(8, 4)).float().mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
