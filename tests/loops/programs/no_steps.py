"""Nothing that pitstop could find: plain tensor arithmetic, and no word about steps."""

import torch

x = torch.eye(128)
for _ in range(60):
    x = torch.linalg.matrix_exp(0.01 * x @ x)
    x = x / x.norm()

print(f"norm {float(x.norm()):.3f}")
