import numpy as np
import torch as th
import torch.nn.functional as F


class Policy(th.nn.Module):
  def __init__(self, n):
    super().__init__()
    self.net = th.nn.Linear(n, n)

  def forward(self, x):
    return self.net(x)


def run(n = 4, steps = 3):
  rng = np.random.default_rng(0)
  data = th.utils.data.TensorDataset(th.as_tensor(rng.normal(size = (32, n)), dtype = th.float32))
  loader = th.utils.data.DataLoader(data, batch_size = 8, shuffle = True, num_workers = 0)
  policy = Policy(n)
  opt = th.optim.Adam(policy.parameters(), lr = 3e-4)
  for (x,) in loader:
    loss = F.mse_loss(policy(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()


if __name__ == '__main__':
  run()
