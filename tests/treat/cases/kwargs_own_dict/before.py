import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)


def main():
    train_args = {
        "batch_size": 4,
        "shuffle": True,  # every epoch anew
    }
    eval_args = dict(batch_size=8, num_workers=0)
    optim_args = {'lr': 0.1, 'weight_decay': 1e-4}
    train_set = TensorDataset(torch.randn(16, 4), torch.randint(2, (16,)))
    eval_set = TensorDataset(torch.randn(16, 4), torch.randint(2, (16,)))
    train_loader = DataLoader(train_set, **train_args)
    eval_loader = DataLoader(eval_set, **eval_args)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), **optim_args)
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for x, y in eval_loader:
            print(nn.functional.cross_entropy(model(x), y).item())


if __name__ == "__main__":
    main()
