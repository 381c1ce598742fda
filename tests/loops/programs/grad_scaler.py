"""Automatic mixed precision with a GradScaler, which leaves out a step whose gradients are not finite."""

import torch
from digits import loader, network

torch.manual_seed(0)
model = network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8, growth_interval=8)
for epoch in range(2):
    for images, labels in loader(shuffle=True):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
print(f"scale {scaler.get_scale():.0f}")
