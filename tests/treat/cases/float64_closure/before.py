import torch
from torch import nn

net = nn.Linear(3, 1).double()
x, y = torch.randn(8, 3).double(), torch.randn(8, 1).double()
opt = torch.optim.LBFGS(net.parameters())


def closure():
    opt.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    return loss


for _ in range(2):
    opt.step(closure)
