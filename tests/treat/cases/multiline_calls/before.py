import torch
from torch import nn
from torch.utils.data import (
    DataLoader,
    TensorDataset,
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x, scale):
        return self.fc(x) * scale


def main():
    train_loader = DataLoader(
        TensorDataset(torch.randn(16, 4), torch.randint(2, (16,))),
        batch_size=4,  # fits in the cache
        shuffle=True,
        # seeded above
    )
    model = Net()
    optimizer = torch.optim.AdamW(
        [
            {"params": model.fc.weight, "weight_decay": 0.1},
            {"params": model.fc.bias, "weight_decay": 0.0},
        ],
        lr=3e-4,
        betas=(0.9, 0.95)  # as published
    )
    for x, y in train_loader:
        logits = model(
            x,  # already on the device
            scale=2.0,
        )
        loss = nn.functional.cross_entropy(
            logits,
            y,
            label_smoothing=0.1,
        )
        (
            loss
            .backward()
        )
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
