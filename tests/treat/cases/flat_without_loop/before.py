import torch

model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.ones(4, 3)

# first step
x = model(x)
loss = x.square().mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(x.sum().item(), loss.item())
