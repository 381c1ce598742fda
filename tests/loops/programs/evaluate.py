"""Evaluation only: a model, a criterion, a loader; nothing is trained."""

import torch
from digits import loader, network

torch.manual_seed(0)
model, criterion = network().eval(), torch.nn.CrossEntropyLoss()
total = 0.0
with torch.no_grad():
    for images, labels in loader(many=960):
        total += float(criterion(model(images), labels))
print(f"loss {total / 60:.3f}")
