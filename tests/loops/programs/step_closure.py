"""Adam with a closure, as some examples have it: forward and backward run inside of `step`."""

import torch
from digits import loader, network

torch.manual_seed(0)
model = network()
optimizer = torch.optim.Adam(model.parameters())
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
for epoch in range(2):
    for images, labels in loader():

        def closure():
            optimizer.zero_grad()
            hidden = torch.nn.functional.dropout(images, 0.1)
            loss = torch.nn.functional.cross_entropy(model(hidden), labels)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
    scheduler.step()
print(f"loss {loss.item():.4f}")
