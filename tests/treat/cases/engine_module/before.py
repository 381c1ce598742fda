import torch
from torch.utils.data import DataLoader, TensorDataset

from engine import evaluate, train_one_epoch
from nets import build


def main():
    train_set = TensorDataset(torch.randn(16, 3, 6, 6), torch.randint(2, (16,)))
    val_set = TensorDataset(torch.randn(8, 3, 6, 6), torch.randint(2, (8,)))
    loader = DataLoader(train_set, batch_size=4, shuffle=True, num_workers=0)
    val_loader = DataLoader(val_set, batch_size=4, num_workers=0)
    model = build()
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(1):
        train_one_epoch(model, criterion, optimizer, loader)
        evaluate(model, criterion, val_loader)


if __name__ == "__main__":
    main()
