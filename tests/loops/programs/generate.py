"""Text generation: the prompt is encoded once, then one call of the decoder for each token."""

import torch
from torch import nn

torch.manual_seed(0)
embed, encoder = nn.Embedding(50, 32), nn.GRU(32, 32, batch_first=True)
decoder, head = nn.GRUCell(32, 32), nn.Linear(32, 50)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.encoder = embed, encoder

    def forward(self, prompt):
        return self.encoder(self.embed(prompt))[1][0]


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.decoder, self.head = embed, decoder, head

    def forward(self, token, state):
        state = self.decoder(self.embed(token), state)
        return self.head(state).argmax(-1), state


reader, writer = Reader().eval(), Writer().eval()
written = 0
with torch.no_grad():
    for prompt in torch.randint(0, 50, (24, 1, 12)):
        state, token = reader(prompt), prompt[:, -1]
        for _ in range(10):
            token, state = writer(token, state)
            written += 1
print(written)
