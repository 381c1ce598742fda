"""A Trainer class, as grown in many projects."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    batch_size: int = 8
    num_workers: int = 0
    epochs: int = 1


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 32), nn.GELU())
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.body(x))


class Trainer:
    def __init__(self, model, config, dataset):
        self.model = model
        self.config = config
        self.loader = DataLoader(
            dataset,
            batch_size=config.batch_size,
            shuffle=True,
            num_workers=config.num_workers,
        )
        self.criterion = nn.CrossEntropyLoss()

        # weight decay is left at its default
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.history = []

    def _loss(self, batch):
        inputs, labels = batch
        logits = self.model(inputs)
        return self.criterion(logits, labels), logits

    def train_epoch(self):
        self.model.train()
        for batch in self.loader:
            self.optimizer.zero_grad(set_to_none=True)
            loss, logits = self._loss(batch)
            self.history.append(logits.argmax(-1).float().mean().item())
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()

    def fit(self):
        for epoch in range(self.config.epochs):
            self.train_epoch()


def main():
    torch.manual_seed(0)
    dataset = TensorDataset(torch.randn(32, 16), torch.randint(4, (32,)))
    Trainer(Classifier(), Config(), dataset).fit()


if __name__ == "__main__":
    main()
