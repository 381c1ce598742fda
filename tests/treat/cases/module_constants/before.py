import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH_SIZE = 4
NUM_WORKERS = 0  # raise on the server
THREADS = 1

torch.set_num_threads(THREADS)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        return self.fc(x)


def get_loader():
    dataset = TensorDataset(torch.randn(16, 4), torch.randn(16, 1))
    return DataLoader(dataset, BATCH_SIZE, shuffle=True, num_workers=NUM_WORKERS, persistent_workers=False)


def main():
    model = Net()
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, 0.1)
    for x, y in get_loader():
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
