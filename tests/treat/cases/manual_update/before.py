import math
import torch


class Polynomial3(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.randn(()))
        self.b = torch.nn.Parameter(torch.randn(()))

    def forward(self, x):
        return self.a + self.b * x


def main():
    x = torch.linspace(-math.pi, math.pi, 200)
    y = torch.sin(x)
    model = Polynomial3()
    for t in range(3):
        y_pred = model(x)
        loss = (y_pred - y).pow(2).sum()
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for param in model.parameters():
                param -= 1e-6 * param.grad
    print(loss)


if __name__ == "__main__":
    main()
