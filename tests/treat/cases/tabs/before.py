import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Net(nn.Module):
	def __init__(self):
		super().__init__()
		self.fc = nn.Linear(4, 1)

	def forward(self, x):
		return self.fc(x)

def train():
	loader = DataLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 1)), batch_size=4,
		shuffle=True)
	model = Net()
	opt = torch.optim.SGD(model.parameters(), lr=0.01)
	for x, y in loader:
		opt.zero_grad()
		out = model(
			x,
		)
		loss = ((out - y)
			** 2).mean()
		loss.backward()
		opt.step()

if __name__ == "__main__":
	train()
