"""Validation in the middle of the epoch, every few steps, with gradients accumulated over two batches."""

import torch
from digits import loader, network


def validate(model, batches):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for images, labels in batches:
            correct += int((model(images).argmax(1) == labels).sum())
            total += len(labels)
    model.train()
    return correct / total


torch.manual_seed(0)
model = network()
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
train, validation = loader(shuffle=True), loader(many=64, batch=32)
step = 0
for epoch in range(3):
    for index, (images, labels) in enumerate(train):
        loss = criterion(model(images), labels) / 2
        loss.backward()
        if index % 2 == 1:
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            if step % 5 == 0:
                print(f"step {step} accuracy {validate(model, validation):.2f}")
