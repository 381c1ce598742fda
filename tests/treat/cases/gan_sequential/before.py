import torch
from torch import nn, optim

G = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
D = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
bce = nn.BCEWithLogitsLoss()
opt_g = optim.Adam(G.parameters(), lr=1e-3, foreach=True)
opt_d = optim.Adam(D.parameters(), lr=1e-3, foreach=True)
ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)

for step in range(3):
    real = torch.randn(16, 2) * 0.5 + 1
    fake = G(torch.randn(16, 4))
    loss_d = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    loss_g = bce(D(fake), ones)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
print(loss_d.item(), loss_g.item())
