"""A loop of one's own with Hugging Face accelerate: prepare, backward through the accelerator, validation."""

import sys
from pathlib import Path

import torch
from accelerate import Accelerator

sys.path.insert(0, str(Path(__file__).parent.parent))
from digits import digits, network
from torch.utils.data import DataLoader


def main():
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True)
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train_loader = DataLoader(digits(320), batch_size=16, shuffle=True)
    val_loader = DataLoader(digits(64), batch_size=32)
    model, optimizer, train_loader, val_loader = accelerator.prepare(model, optimizer, train_loader, val_loader)
    for epoch in range(2):
        model.train()
        for images, labels in train_loader:
            logits = model(images)
            loss = torch.nn.functional.cross_entropy(logits, labels)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
        model.eval()
        correct = 0
        with torch.no_grad():
            for images, labels in val_loader:
                predictions, labels = accelerator.gather_for_metrics((model(images).argmax(1), labels))
                correct += int((predictions == labels).sum())
        accelerator.print(f"epoch {epoch} correct {correct}")


if __name__ == "__main__":
    main()
