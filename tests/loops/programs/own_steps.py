"""Nothing that pitstop could find: plain tensor arithmetic. The program says itself where a step ends."""

import torch

try:
    from pitstop import step
except ImportError:

    def step():
        pass


x = torch.eye(128)
for _ in range(60):
    x = torch.linalg.matrix_exp(0.01 * x @ x)
    x = x / x.norm()
    step()
print(f"norm {float(x.norm()):.3f}")
