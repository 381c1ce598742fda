import torch
from torch import nn


def train(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, batch in enumerate(batches):
        out = model(batch)
        loss = out.square().mean()
        if step > 0:
            loss = loss + 0.1 * (out - last).abs().mean()
        last = out.detach()
        total = total * 0.9 + loss if step else loss
        total.backward(retain_graph=True)
        total = total.detach()
        optimizer.step()
        optimizer.zero_grad()


train(nn.Linear(3, 3), torch.randn(3, 4, 3))
