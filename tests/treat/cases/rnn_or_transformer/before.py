import torch
from torch import nn

KIND = "LSTM"


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 3)

    def forward(self, x, hidden):
        return self.rnn(x, hidden)


def detached(hidden):
    return tuple(part.detach() for part in hidden)


model = Model()
criterion = nn.MSELoss()


def train(lr=0.1):
    hidden = (torch.zeros(1, 2, 3), torch.zeros(1, 2, 3))
    for x in torch.randn(3, 5, 2, 3):
        model.zero_grad()
        if KIND == "Transformer":
            output = model(x)
            output = output.view(-1, 3)
        else:
            hidden = detached(hidden)
            output, hidden = model(x, hidden)
        loss = criterion(output, x)
        loss.backward()
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
    return loss.item()


print(train())
