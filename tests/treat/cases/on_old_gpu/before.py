import torch
from torch import nn

model = nn.Linear(8, 4)
head = nn.Linear(4, 1)
first = torch.optim.SGD(model.parameters(), lr=0.1)
second = torch.optim.AdamW(head.parameters())
inputs = torch.randn(6, 8)

for epoch in range(3):
    loss = head(model(inputs).relu()).square().mean()
    first.zero_grad()
    second.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    first.step()
    second.step()
    print(epoch)
