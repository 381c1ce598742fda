import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

n_val = 8
dataset = TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
train_set, val_set = random_split(dataset, [len(dataset) - n_val, n_val])
loader_args = dict(batch_size=4, num_workers=0, pin_memory=False)
train_loader = DataLoader(train_set, shuffle=True, **loader_args)
val_loader = DataLoader(val_set, shuffle=False, drop_last=True, **loader_args)


class UNetLike(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 1)

    def forward(self, x):
        return self.a(x)


model = UNetLike()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, foreach=True)
for x, y in train_loader:
    loss = (model(x) - y).square().mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print(sum((model(x) - y).square().mean().item() for x, y in val_loader))
