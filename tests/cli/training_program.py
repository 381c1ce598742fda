"""A small real training program, as text."""

TRAINING = """
import torch

model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range({steps}):
    loss = model(torch.randn(8, 16)).square().mean(){scale}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained")
"""


def training(*, steps: int = 40, scale: str = "") -> str:
    return TRAINING.format(steps=steps, scale=scale)
