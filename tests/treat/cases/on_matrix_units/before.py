import torch as th
from torch import nn

th.set_float32_matmul_precision("highest")
model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 1))
optimizer = th.optim.AdamW(model.parameters())
inputs = [th.randn(4, length, 8) for length in (3, 5, 3)]

for batch in inputs:
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
